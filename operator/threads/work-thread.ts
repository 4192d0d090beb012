/*
 * Worker threads, apart from what runs in them (offload/): one piece of work at a time, with a limit of time and
 * memory, and turns among tenants. `ReadJson` (read-json.ts) parses large JSON there; size.ts says what is large.
 */

import { Worker } from 'node:worker_threads';
import { atMost, type Clock, type Timer } from '../../runtime/process/index.ts';
import { FairQueue } from '../fair-queue.ts';

/** The work took more time or memory than one object may cost. */
export class TooCostlyError extends Error {
  override readonly name = 'TooCostlyError';
}

export interface WorkThreadOptions {
  /**
   * What the thread runs: it answers each message `{ task, input }` with `Begun` once it has loaded what the work
   * needs, then with an `Answer`.
   */
  readonly entry: URL;
  /** Longest CPU time for one piece of work from when it has begun, in milliseconds. */
  readonly limitMs: number;
  /** Most memory of its heap, in MiB. */
  readonly heapMiB: number;
  /** Ends the thread after so long without work; absent: it stays. */
  readonly idleMs?: number;
}

interface Job {
  readonly signal: AbortSignal | undefined;
  readonly tenant: string;
  readonly task: string;
  readonly input: unknown;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Longest time until the thread has begun: programs are loaded, whose cost no user decides, on a machine that may have
 * much else to do.
 */
const BEGIN_MS = 60_000;

/** On a machine that has much else to do, work may take so many times its CPU time. */
const BUSY = 4;
/** Time for the thread to say what CPU time it has used. */
const USAGE_MS = 500;
const SOONEST_CHECK_MS = 10;

/** What the thread answers last. */
export type Answer =
  | { readonly output: unknown }
  | { readonly error: { readonly name: string; readonly message: string; readonly stack: string | undefined } };

/** What the thread answers first: only its work counts from here on. */
export interface Begun {
  /** CPU time that the thread has used so far, in microseconds (`process.threadCpuUsage`). */
  readonly begun: { readonly user: number; readonly system: number };
}

/** When a piece of work has begun. */
interface Beginning {
  /** In clock time. */
  readonly at: number;
  readonly worker: Worker;
  readonly cpu: Begun['begun'];
}

/**
 * A thread for pure work whose cost users decide, so that the thread which renews the Lease and answers probes never
 * waits for it. One piece of work at a time; one that is too costly is ended with its thread, and the next begins in a
 * new thread.
 */
export class WorkThread {
  readonly #options: WorkThreadOptions;
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<Job>();
  #worker: Worker | undefined;
  #job: Job | undefined;
  #timer: Timer | undefined;
  /** The thread has done other work before. */
  #isUsed = false;
  #isStopped = false;

  constructor(options: WorkThreadOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Rejects with what the task threw, and with `TooCostlyError`. Input and output are copied (structured clone).
   * Tenants take turns, so work waits for at most one piece of each other tenant. Work whose `signal` is aborted
   * rejects at once and is not started.
   */
  async run(task: string, input: unknown, tenant: string, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.#isStopped) throw new Error('the thread was stopped');
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const job: Job = { signal, tenant, task, input, resolve, reject };
    const withdraw = (): void => {
      this.#waiting.remove(tenant, job);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', withdraw, { once: true });
    this.#waiting.add(tenant, job);
    this.#next();
    return promise.finally(() => signal?.removeEventListener('abort', withdraw));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    const error = new Error('the thread was stopped');
    this.#job?.reject(error);
    for (const { reject } of this.#waiting.clear()) reject(error);
    await this.#worker?.terminate();
  }

  #next(): void {
    if (this.#job !== undefined || this.#isStopped) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#job = this.#waiting.take();
    if (this.#job === undefined) return this.#rest();
    this.#timer = this.#clock.after(BEGIN_MS, () => this.#drop(new Error('the thread does not begin its work')));
    const { task, input } = this.#job;
    try {
      this.#worker ??= this.#start();
      // Nothing is transferred: the job may have to be sent again, to another thread.
      this.#worker.postMessage({ task, input });
    } catch (error) {
      this.#end(({ reject }) => reject(error as Error));
    }
  }

  #checkAfter(ms: number, beginning: Beginning): void {
    this.#timer?.cancel();
    const timer = this.#clock.after(ms, () => void this.#check(timer, beginning));
    this.#timer = timer;
  }

  async #check(timer: Timer, beginning: Beginning): Promise<void> {
    const leftMs = await this.#leftMs(beginning);
    // The answer may be here already and have had no turn, because this thread was busy itself.
    await new Promise(setImmediate);
    if (this.#timer !== timer || this.#isStopped) return;
    if (leftMs > 0) return this.#checkAfter(Math.max(leftMs, SOONEST_CHECK_MS), beginning);
    this.#drop(new TooCostlyError(`takes longer than ${this.#options.limitMs} ms`));
  }

  async #leftMs({ at, worker, cpu: { user, system } }: Beginning): Promise<number> {
    const { limitMs } = this.#options;
    const usage = worker.cpuUsage();
    // A thread says nothing while it runs native code, such as `JSON.parse`: what it has used is not known then.
    const isKnown = await atMost(this.#clock, USAGE_MS, usage).catch(() => false);
    const used = isKnown ? await usage : { user, system };
    const usedMs = (used.user - user + used.system - system) / 1_000;
    return Math.min(limitMs - usedMs, at + BUSY * limitMs - this.#clock.now());
  }

  #rest(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined || this.#worker === undefined) return;
    this.#timer = this.#clock.after(idleMs, () => this.#leave());
  }

  #start(): Worker {
    const worker = new Worker(this.#options.entry, {
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMiB },
    });
    worker.unref();
    worker.on('message', (answer: Answer | Begun) => {
      if (worker !== this.#worker) return;
      if ('begun' in answer)
        this.#checkAfter(this.#options.limitMs, { at: this.#clock.now(), worker, cpu: answer.begun });
      else this.#end((job) => answered(job, answer));
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker === this.#worker) this.#fail(error);
    });
    worker.on('exit', () => {
      if (worker === this.#worker) this.#drop(new Error('the thread ended'));
    });
    return worker;
  }

  /** What other work has left behind is not this one's fault. */
  #fail(error: NodeJS.ErrnoException): void {
    const job = this.#job;
    if (!isOutOfMemory(error) || job === undefined || job.signal?.aborted === true) return this.#drop(error);
    if (!this.#isUsed) return this.#drop(new TooCostlyError('takes too much memory'));
    this.#leave();
    this.#job = undefined;
    this.#waiting.addFirst(job.tenant, job);
    this.#next();
  }

  /** Whatever the thread is at is of no use any more. */
  #drop(error: Error): void {
    this.#leave();
    this.#end(({ reject }) => reject(error));
  }

  #leave(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#isUsed = false;
  }

  #end(tell: (job: Job) => void): void {
    const job = this.#job;
    this.#job = undefined;
    this.#isUsed = this.#worker !== undefined;
    if (job !== undefined) tell(job);
    this.#next();
  }
}

const answered = ({ resolve, reject }: Job, answer: Answer): void => {
  if ('output' in answer) return resolve(answer.output);
  const { name, message, stack } = answer.error;
  reject(Object.assign(new Error(message), { name }, stack !== undefined && { stack }));
};

const isOutOfMemory = ({ code }: NodeJS.ErrnoException): boolean => code === 'ERR_WORKER_OUT_OF_MEMORY';
