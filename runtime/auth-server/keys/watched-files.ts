import type { Clock, Timer } from '../../process/index.ts';

/** Age at which sources are read again. */
const MAX_AGE_MS = 2_000;
/** The same while nothing is asked for, so that listeners hear of a change. */
const IDLE_AGE_MS = 20_000;

/** The content of a file; undefined: there is none. */
export type Source = string | Buffer | undefined;

export interface WatchedFilesDeps<T> {
  readonly read: () => Promise<readonly Source[]>;
  /** Throws where the sources cannot be used. */
  readonly make: (sources: readonly Source[]) => T | Promise<T>;
  readonly clock: Clock;
  /** Hears of each read that has failed, with why, and of each that has not. */
  readonly onRead?: (failure?: unknown) => void;
}

/** What is made of files that may change at any time: the same value as long as they stay the same. */
export class WatchedFiles<T> {
  readonly #deps: WatchedFilesDeps<T>;
  readonly #listeners = new Set<() => void>();
  #known: { readonly sources: readonly Source[]; readonly made: T } | undefined;
  #readAt = -Infinity;
  #reading: Promise<T> | undefined;
  #idle: Timer | undefined;
  #isClosed = false;

  constructor(deps: WatchedFilesDeps<T>) {
    this.#deps = deps;
  }

  /** Throws what `read` and `make` throw. */
  async current(): Promise<T> {
    const isRecent = this.#deps.clock.now() - this.#readAt < MAX_AGE_MS;
    return this.#known && isRecent ? this.#known.made : this.#latest();
  }

  /** As `current`; where that throws, the value before. */
  async lastUsable(): Promise<T> {
    return this.current().catch((error: unknown) => {
      if (this.#known) return this.#known.made;
      throw error;
    });
  }

  /** Calls `listener` when there is another value; returns the function that ends it. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#idle?.cancel();
  }

  #latest(): Promise<T> {
    this.#reading ??= this.#readAndTell().finally(() => {
      this.#reading = undefined;
      this.#idle?.cancel();
      if (!this.#isClosed) this.#idle = this.#deps.clock.after(IDLE_AGE_MS, () => void this.#latest().catch(() => {}));
    });
    return this.#reading;
  }

  async #readAndTell(): Promise<T> {
    try {
      const made = await this.#read();
      this.#deps.onRead?.();
      return made;
    } catch (error) {
      this.#deps.onRead?.(error);
      throw error;
    }
  }

  async #read(): Promise<T> {
    const sources = await this.#deps.read();
    const before = this.#known;
    const isUnchanged = before !== undefined && isSame(before.sources, sources);
    const made = isUnchanged ? before.made : await this.#deps.make(sources);
    this.#known = { sources, made };
    this.#readAt = this.#deps.clock.now();
    if (before && !isUnchanged) for (const listener of this.#listeners) listener();
    return made;
  }
}

const isSame = (a: readonly Source[], b: readonly Source[]): boolean =>
  a.length === b.length && a.every((each, at) => isEqual(each, b[at]));

const isEqual = (a: Source, b: Source): boolean => a === b || (Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b));
