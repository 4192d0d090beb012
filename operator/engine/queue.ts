/*
 * What drives the operator, apart from any kind: the work queue, the fan-out from a change to the keys it concerns, the
 * leader election, the status polls of pods, the keys that sign their tokens, events. The parts do not know each other:
 * start-operator.ts and watch-cluster.ts above this room join them.
 * Start with `KeyedQueue` below, then fan-out.ts and leader.ts.
 */

import { aborted } from '../aborted.ts';
import { FairQueue } from '../fair-queue.ts';
import { backoffMs, type Clock, type Timer } from '../../runtime/process/index.ts';

export interface QueueOptions {
  /** Keys worked on at once. */
  readonly workers: number;
  /** Maximum of them that work for one tenant, so that others always find a worker. */
  readonly maxWorkersPerTenant: number;
  /** Tenant of a key; tenants take turns. */
  readonly tenantOf: (key: string) => string;
  /** A key is due when nothing was added for it during this time … */
  readonly debounceMs: number;
  /** … and at the latest this long after it was first added. */
  readonly maxDebounceMs: number;
  readonly retry: { readonly baseMs: number; readonly maxMs: number };
}

/** The result of one attempt; with `requeueAfterMs` the key is due again after that time. */
export interface WorkResult {
  readonly requeueAfterMs?: number;
}

/**
 * Works on a key; a throw means: retry with back-off. `isEarly`: the key is new, and its debounce time has not passed.
 */
export type Work = (key: string, signal: AbortSignal, isEarly: boolean) => Promise<WorkResult>;

export interface QueueDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** Called for every failed attempt, with the delay until the next one. */
  readonly onFailure: (key: string, error: unknown, delayMs: number) => void;
  /** Called with the time that a due key waited for a worker. */
  readonly onTaken: (waitedMs: number) => void;
}

/** A key that is due, whose it is, and since when, in clock time. */
interface DueKey {
  readonly key: string;
  readonly tenant: string;
  readonly since: number;
}

interface WorkerRun {
  readonly work: Work;
  /** After this no key is taken up. */
  readonly stopping: AbortSignal;
  /** Aborts the work in flight. */
  readonly cancelled: AbortSignal;
  readonly beganAt: number;
}

interface Entry {
  /** When it is due, in clock time; undefined while nothing is to be done. */
  dueAt: number | undefined;
  /** When it was first added since it was last taken up, in clock time. */
  firstAddedAt: number | undefined;
  timer: Timer | undefined;
  failures: number;
  isEarly: boolean;
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
  readonly #due = new FairQueue<DueKey>();
  /** Keys that are worked on, by tenant. */
  readonly #workingFor = new Map<string, number>();
  readonly #idle = new Set<() => void>();
  #working = 0;
  #shift: WorkerRun | undefined;

  constructor(options: QueueOptions, deps: QueueDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Keys waiting, due or being worked on. */
  get size(): number {
    return this.#entries.size;
  }

  /** Keys that are due and wait for a worker; 0 while the queue does not run. */
  get backlog(): number {
    return this.#shift === undefined ? 0 : this.#due.size;
  }

  /** Adds a key whose dependencies have changed; it is due after the debounce time. */
  add(key: string): void {
    const now = this.#deps.clock.now();
    const entry = this.#entry(key);
    entry.firstAddedAt ??= now;
    const { debounceMs, maxDebounceMs } = this.#options;
    this.#schedule(key, entry, Math.min(now + debounceMs, entry.firstAddedAt + maxDebounceMs));
  }

  /** As `add`, for a new key: where no other key waits for a worker, it is also worked on at once. */
  addNew(key: string): void {
    const isFree =
      this.#shift !== undefined && this.#due.size === 0 && this.#working < this.#options.maxWorkersPerTenant;
    if (isFree && !this.#entries.has(key)) {
      const entry = this.#entry(key);
      entry.isEarly = true;
      this.#makeReady(key, entry);
    }
    this.add(key);
  }

  /**
   * Works on keys until `stopping` is aborted, and aborts the work in flight with `cancelled`; resolves when the last
   * worker has returned.
   */
  async run(work: Work, stopping: AbortSignal, cancelled = stopping): Promise<void> {
    this.#shift = { work, stopping, cancelled, beganAt: this.#deps.clock.now() };
    this.#dispatch();
    await aborted(stopping);
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
      firstAddedAt: undefined,
      timer: undefined,
      failures: 0,
      isEarly: false,
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
    const mayHaveTurn = (tenant: string): boolean =>
      (this.#workingFor.get(tenant) ?? 0) < this.#options.maxWorkersPerTenant;
    for (;;) {
      const shift = this.#shift;
      if (shift === undefined || shift.stopping.aborted || this.#working >= this.#options.workers) return;
      const due = this.#due.take(mayHaveTurn);
      if (due === undefined) return;
      this.#deps.onTaken(this.#deps.clock.now() - Math.max(due.since, shift.beganAt));
      void this.#take(due, shift);
    }
  }

  async #take({ key, tenant }: DueKey, shift: WorkerRun): Promise<void> {
    const entry = this.#entry(key);
    const { isEarly } = entry;
    Object.assign(entry, { state: 'working', dueAt: undefined, firstAddedAt: undefined, isEarly: false });
    this.#count(tenant, 1);
    const requeueAfterMs = await this.#attempt(key, { ...shift, entry, isEarly });
    this.#count(tenant, -1);
    this.#settle(key, entry, requeueAfterMs);
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
    { entry, work, cancelled, isEarly }: WorkerRun & Pick<Entry, 'isEarly'> & { readonly entry: Entry },
  ): Promise<number | undefined> {
    try {
      const result = await work(key, cancelled, isEarly);
      entry.failures = 0;
      return result.requeueAfterMs;
    } catch (error) {
      entry.failures += 1;
      const own = backoffMs(entry.failures, this.#options.retry, this.#deps.random);
      const delayMs = Math.max(own, askedDelayMs(error));
      if (!cancelled.aborted) {
        this.#deps.onFailure(key, error, delayMs);
      }
      return delayMs;
    }
  }

  #settle(key: string, entry: Entry, requeueAfterMs: number | undefined): void {
    entry.state = 'waiting';
    const again = requeueAfterMs === undefined ? [] : [this.#deps.clock.now() + requeueAfterMs];
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
