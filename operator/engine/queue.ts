import { aborted } from '../aborted.ts';
import { backoffMs } from '../../runtime/clock.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';

export interface QueueOptions {
  /** Keys worked on at once. */
  readonly workers: number;
  /** A key is taken up once it has been quiet for this long … */
  readonly quietMs: number;
  /** … but at the latest this long after the first change. */
  readonly quietAtMostMs: number;
  readonly retry: { readonly baseMs: number; readonly maxMs: number };
}

/** What to do with a key after it was worked on. */
export interface WorkResult {
  readonly againAfterMs?: number;
}

/** A throw means: try again later. */
export type Work = (key: string, signal: AbortSignal) => Promise<WorkResult>;

export interface QueueDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of every throw with the delay until the next attempt. */
  readonly onFailure: (key: string, error: unknown, delayMs: number) => void;
  /** Told how long a key that was due waited for a worker. */
  readonly onTaken: (waitedMs: number) => void;
}

interface Shift {
  readonly work: Work;
  /** Nothing more is taken up. */
  readonly ending: AbortSignal;
  /** What is worked on is cut off. */
  readonly over: AbortSignal;
  readonly beganAt: number;
}

interface Entry {
  /** When it is due, in clock time; undefined while nothing is to be done. */
  dueAt: number | undefined;
  /** First change since it was last taken up. */
  touchedAt: number | undefined;
  timer: Timer | undefined;
  failures: number;
  state: 'waiting' | 'ready' | 'working';
}

/**
 * Keys that need work. A key waits once however often it is added, is worked on by one worker at a time, and comes back
 * with growing delays when its work throws. Nothing is worked on before `run` and after its signal is aborted; keys wait.
 */
export class KeyedQueue {
  readonly #options: QueueOptions;
  readonly #deps: QueueDeps;
  readonly #entries = new Map<string, Entry>();
  /** Keys that are due, and since when. */
  readonly #ready = new Map<string, number>();
  readonly #idle = new Set<() => void>();
  #working = 0;
  #shift: Shift | undefined;

  constructor(options: QueueOptions, deps: QueueDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Keys waiting, due or being worked on. */
  get size(): number {
    return this.#entries.size;
  }

  /** Keys that are due and wait for a worker; none while nobody works. */
  get backlog(): number {
    return this.#shift === undefined ? 0 : this.#ready.size;
  }

  /** Something the key depends on changed: take it up when changes have calmed down. */
  touch(key: string): void {
    const now = this.#deps.clock.now();
    const entry = this.#entry(key);
    entry.touchedAt ??= now;
    const { quietMs, quietAtMostMs } = this.#options;
    this.#schedule(key, entry, Math.min(now + quietMs, entry.touchedAt + quietAtMostMs));
  }

  /** Takes up keys until `ending` is aborted and cuts work off with `over`; resolves when the last worker has come back. */
  async run(work: Work, ending: AbortSignal, over = ending): Promise<void> {
    this.#shift = { work, ending, over, beganAt: this.#deps.clock.now() };
    this.#dispatch();
    await aborted(ending);
    this.#shift = undefined;
    if (this.#working > 0) {
      await new Promise<void>((resolve) => this.#idle.add(resolve));
    }
  }

  /** Forgets every key that waits, so that nothing keeps the process alive. */
  clear(): void {
    for (const [key, entry] of this.#entries) {
      entry.timer?.cancel();
      if (entry.state !== 'working') {
        this.#entries.delete(key);
      }
    }
    this.#ready.clear();
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      return known;
    }
    const entry: Entry = { dueAt: undefined, touchedAt: undefined, timer: undefined, failures: 0, state: 'waiting' };
    this.#entries.set(key, entry);
    return entry;
  }

  #schedule(key: string, entry: Entry, dueAt: number): void {
    entry.timer?.cancel();
    entry.dueAt = dueAt;
    // While it is worked on or ready, the time is only noted; `#settle` or the worker looks at it.
    entry.timer =
      entry.state === 'waiting'
        ? this.#deps.clock.after(Math.max(0, dueAt - this.#deps.clock.now()), () => this.#makeReady(key, entry))
        : undefined;
  }

  #makeReady(key: string, entry: Entry): void {
    entry.timer = undefined;
    entry.state = 'ready';
    this.#ready.set(key, this.#deps.clock.now());
    this.#dispatch();
  }

  #dispatch(): void {
    for (const [key, readyAt] of this.#ready) {
      const shift = this.#shift;
      if (shift === undefined || shift.ending.aborted || this.#working >= this.#options.workers) {
        return;
      }
      this.#ready.delete(key);
      this.#deps.onTaken(this.#deps.clock.now() - Math.max(readyAt, shift.beganAt));
      void this.#take(key, shift);
    }
  }

  async #take(key: string, shift: Shift): Promise<void> {
    const entry = this.#entry(key);
    Object.assign(entry, { state: 'working', dueAt: undefined, touchedAt: undefined });
    this.#working += 1;
    const againAfterMs = await this.#attempt(key, entry, shift);
    this.#working -= 1;
    this.#settle(key, entry, againAfterMs);
    if (this.#working === 0) {
      this.#idle.forEach((resolve) => resolve());
      this.#idle.clear();
    }
    this.#dispatch();
  }

  async #attempt(key: string, entry: Entry, { work, over }: Shift): Promise<number | undefined> {
    try {
      const result = await work(key, over);
      entry.failures = 0;
      return result.againAfterMs;
    } catch (error) {
      entry.failures += 1;
      const own = backoffMs(entry.failures, this.#options.retry, this.#deps.random);
      const delayMs = Math.max(own, askedDelayMs(error));
      if (!over.aborted) {
        this.#deps.onFailure(key, error, delayMs);
      }
      return delayMs;
    }
  }

  #settle(key: string, entry: Entry, againAfterMs: number | undefined): void {
    entry.state = 'waiting';
    const again = againAfterMs === undefined ? [] : [this.#deps.clock.now() + againAfterMs];
    const dueAt = Math.min(...again, entry.dueAt ?? Number.POSITIVE_INFINITY);
    if (dueAt === Number.POSITIVE_INFINITY) {
      this.#entries.delete(key);
    } else {
      this.#schedule(key, entry, dueAt);
    }
  }
}

/** An error may carry the delay the other side asked for (`Retry-After`). */
const askedDelayMs = (error: unknown): number =>
  error instanceof Error && 'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : 0;
