/*
 * What drives the operator, apart from any kind: the work queue, the fan-out from a change to the keys it concerns, the
 * leader election, the status polls of pods, the keys that sign their tokens, events. The parts do not know each other:
 * start-operator.ts and watch-cluster.ts above this room join them.
 * Start with `KeyedQueue` below, then fan-out.ts and leader.ts.
 */

import { aborted } from '../aborted.ts';
import { Turns } from '../turns.ts';
import { backoffMs, type Clock, type Timer } from '../../runtime/process/index.ts';

export interface QueueOptions {
  /** Keys worked on at once. */
  readonly workers: number;
  /** … of which one tenant has so many at most: the others are there for everybody else. */
  readonly workersOfOne: number;
  /** Whose turn a key takes. */
  readonly tenantOf: (key: string) => string;
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

/** A throw means: try again later. `isHasty`: changes have not calmed down yet. */
export type Work = (key: string, signal: AbortSignal, isHasty: boolean) => Promise<WorkResult>;

export interface QueueDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of every throw with the delay until the next attempt. */
  readonly onFailure: (key: string, error: unknown, delayMs: number) => void;
  /** Told how long a key that was due waited for a worker. */
  readonly onTaken: (waitedMs: number) => void;
}

/** A key that is due, whose it is, and since when, in clock time. */
interface DueKey {
  readonly key: string;
  readonly tenant: string;
  readonly since: number;
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
  isHasty: boolean;
  state: 'waiting' | 'ready' | 'working';
}

/**
 * Keys that need work. A key waits once however often it is added, is worked on by one worker at a time, and comes back
 * with growing delays when its work throws. Nothing is worked on before `run` and after its signal is aborted; keys
 * wait.
 */
export class KeyedQueue {
  readonly #options: QueueOptions;
  readonly #deps: QueueDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #due = new Turns<DueKey>();
  /** Keys that are worked on, by tenant. */
  readonly #workingFor = new Map<string, number>();
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
    return this.#shift === undefined ? 0 : this.#due.size;
  }

  /** Something the key depends on changed: take it up when changes have calmed down. */
  touch(key: string): void {
    const now = this.#deps.clock.now();
    const entry = this.#entry(key);
    entry.touchedAt ??= now;
    const { quietMs, quietAtMostMs } = this.#options;
    this.#schedule(key, entry, Math.min(now + quietMs, entry.touchedAt + quietAtMostMs));
  }

  /** As `touch`, for a key that is new: where nobody has to wait for it, it is taken up at once as well. */
  touchNew(key: string): void {
    const isFree = this.#shift !== undefined && this.#due.size === 0 && this.#working < this.#options.workersOfOne;
    if (isFree && !this.#entries.has(key)) {
      const entry = this.#entry(key);
      entry.isHasty = true;
      this.#makeReady(key, entry);
    }
    this.touch(key);
  }

  /**
   * Takes up keys until `ending` is aborted and cuts work off with `over`; resolves when the last worker has come back.
   */
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
    this.#due.clear();
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      return known;
    }
    const entry: Entry = {
      dueAt: undefined,
      touchedAt: undefined,
      timer: undefined,
      failures: 0,
      isHasty: false,
      state: 'waiting',
    };
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
    const tenant = this.#options.tenantOf(key);
    this.#due.add(tenant, { key, tenant, since: this.#deps.clock.now() });
    this.#dispatch();
  }

  #dispatch(): void {
    const mayHaveTurn = (tenant: string): boolean => (this.#workingFor.get(tenant) ?? 0) < this.#options.workersOfOne;
    for (;;) {
      const shift = this.#shift;
      if (shift === undefined || shift.ending.aborted || this.#working >= this.#options.workers) return;
      const due = this.#due.take(mayHaveTurn);
      if (due === undefined) return;
      this.#deps.onTaken(this.#deps.clock.now() - Math.max(due.since, shift.beganAt));
      void this.#take(due, shift);
    }
  }

  async #take({ key, tenant }: DueKey, shift: Shift): Promise<void> {
    const entry = this.#entry(key);
    const { isHasty } = entry;
    Object.assign(entry, { state: 'working', dueAt: undefined, touchedAt: undefined, isHasty: false });
    this.#count(tenant, 1);
    const againAfterMs = await this.#attempt(key, { ...shift, entry, isHasty });
    this.#count(tenant, -1);
    this.#settle(key, entry, againAfterMs);
    if (this.#working === 0) {
      this.#idle.forEach((resolve) => resolve());
      this.#idle.clear();
    }
    this.#dispatch();
  }

  #count(tenant: string, more: 1 | -1): void {
    this.#working += more;
    const working = (this.#workingFor.get(tenant) ?? 0) + more;
    if (working === 0) this.#workingFor.delete(tenant);
    else this.#workingFor.set(tenant, working);
  }

  async #attempt(
    key: string,
    { entry, work, over, isHasty }: Shift & Pick<Entry, 'isHasty'> & { readonly entry: Entry },
  ): Promise<number | undefined> {
    try {
      const result = await work(key, over, isHasty);
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
