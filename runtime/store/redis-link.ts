import { abortAfter, backoffMs, type Clock, jittered, sleep, type Timer } from '../process/index.ts';
import { bytesReceived, isUnsent, type RedisClient } from './redis-client.ts';
import type { Refusals } from './refusals.ts';
import { storeUnavailable } from './store.ts';
import { REDIS_TIMES, type RedisTimes } from './store-settings.ts';

export interface LinkDeps {
  readonly connect: (signal: AbortSignal) => Promise<RedisClient>;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Prepares a new connection before it is used for commands. */
  readonly prepare?: (client: RedisClient) => Promise<void>;
  /** The client connects to many servers and reconnects by itself: a silent node says nothing about the others. */
  readonly isCluster: boolean;
  /** `reason` holds no secret. */
  readonly onChange: (isUp: boolean, reason: string) => void;
  /**
   * Receives the outcome of each command that a server answered, not of those that failed because the connection ended.
   */
  readonly outcomes?: Pick<Refusals, 'refused' | 'done'>;
}

/** Reconnects within 2 s of the store's return, and a thousand replicas do not all connect at once. */
const BACKOFF = { baseMs: 50, maxMs: 1_000 };
/** A connection that ends sooner counts as an attempt that failed. */
const LASTING_MS = 5_000;
/** Between two looks at answers that come in pieces: the server sends the next when one is read. */
const REST_MS = 50;

/** A connection that is reopened for ever whenever it is lost. Commands meanwhile are refused at once. */
export class RedisLink {
  readonly #deps: LinkDeps;
  readonly #times: RedisTimes;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #client: RedisClient | undefined;
  #reason = 'not connected yet';
  #drop: (reason: string) => void = () => {};

  constructor(times: RedisTimes, deps: LinkDeps) {
    this.#times = times;
    this.#deps = deps;
    this.#running = this.#run();
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /**
   * Runs one command within its deadline, or with `withoutDeadline` for as long as the connection lasts. Throws
   * VmcpError `store_unavailable`.
   */
  async run<T>(operation: string, command: (client: RedisClient) => Promise<T>, how?: 'withoutDeadline'): Promise<T> {
    const client = this.#client;
    if (!client) throw storeUnavailable(this.#reason);
    try {
      const work = command(client);
      const answer = await (how === 'withoutDeadline' ? work : this.#withinDeadline(client, work));
      this.#deps.outcomes?.done(operation);
      return answer;
    } catch (error) {
      const reason = reasonOf(error);
      if (!this.#deps.isCluster && isConnectionUseless(reason)) this.#dropIfStill(client, reason);
      else if (this.#client === client && (this.#deps.isCluster || isReply(error)))
        this.#deps.outcomes?.refused(operation, reason);
      throw storeUnavailable(reason);
    }
  }

  /**
   * Runs a command that `prepare` repeats on a new connection: where it fails, the connection is dropped. Never throws.
   */
  async runOrDrop(command: (client: RedisClient) => Promise<unknown>): Promise<boolean> {
    const client = this.#client;
    if (!client) return false;
    try {
      await this.#withinDeadline(client, command(client));
      return true;
    } catch (error) {
      this.#dropIfStill(client, reasonOf(error));
      return false;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#drop('closed');
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#deps;
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const startedAt = clock.now();
      this.#reason = await this.#connectAndServe();
      if (signal.aborted) return;
      this.#deps.onChange(false, this.#reason);
      if (clock.now() - startedAt >= LASTING_MS + this.#times.connectMs) attempt = 0;
      await sleep(clock, backoffMs(Math.max(1, attempt), BACKOFF, random), signal);
    }
  }

  /** Resolves with the reason when the connection has ended or could not be opened. */
  async #connectAndServe(): Promise<string> {
    const { clock, connect, prepare, onChange } = this.#deps;
    let client: RedisClient | undefined;
    try {
      const deadline = AbortSignal.any([this.#closing.signal, abortAfter(clock, this.#times.connectMs)]);
      client = await connect(deadline);
      if (this.#closing.signal.aborted) return 'closed';
      const ended = this.#endOf(client);
      const prepared = this.#withinDeadline(client, prepare?.(client) ?? Promise.resolve());
      const lost = await Promise.race([ended, prepared.then(() => undefined)]);
      if (lost !== undefined) return lost;
      this.#client = client;
      onChange(true, '');
      return await ended;
    } catch (error) {
      return reasonOf(error);
    } finally {
      this.#client = undefined;
      this.#drop = () => {};
      client?.disconnect();
    }
  }

  #endOf(client: RedisClient): Promise<string> {
    return new Promise((resolve) => {
      client.once('close', () => resolve('connection closed'));
      client.once('end', () => resolve('connection closed'));
      this.#drop = resolve;
      if (!this.#deps.isCluster) this.#pingLater(client);
    });
  }

  /** Pings the server, since a dead connection may look open for hours. */
  #pingLater(client: RedisClient): void {
    const { clock, random } = this.#deps;
    clock.after(jittered(this.#times.pingMs ?? REDIS_TIMES.pingMs, random, 0.2), () => {
      if (this.#closing.signal.aborted) return;
      this.#withinDeadline(client, client.ping()).then(
        () => this.#pingLater(client),
        (error: unknown) => this.#dropIfStill(client, reasonOf(error)),
      );
    });
  }

  #dropIfStill(client: RedisClient, reason: string): void {
    if (this.#client === client) this.#drop(reason);
  }

  /** The server has `writeMs` to take the command, and `commandMs` to answer it. */
  #withinDeadline<T>(client: RedisClient, work: Promise<T>): Promise<T> {
    const { commandMs, writeMs = commandMs } = this.#times;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const failIf = (isLate: () => boolean) => (): void =>
        this.#afterReading(
          client,
          () => isOver,
          () => isLate() && reject(new DeadlineError()),
        );
      const after = (ms: number, isLate: () => boolean): Timer => this.#deps.clock.after(ms, failIf(isLate));
      const timers = [
        after(commandMs, () => writeMs <= commandMs || !isUnsent(client)),
        ...(writeMs === commandMs ? [] : [after(writeMs, () => writeMs > commandMs || isUnsent(client))]),
      ];
      work.then(resolve, reject).finally(() => {
        isOver = true;
        timers.forEach((timer) => timer.cancel());
      });
    });
  }

  /**
   * Judges after the sockets were read: a process that was short of processor time finds timers due before it finds the
   * answers that came meanwhile. As long as some come, the server has more to send than the sockets hold; but no longer
   * than another `commandMs`, since of a cluster another node may be heard all the time. What is over is not judged.
   */
  #afterReading(client: RedisClient, isOver: () => boolean, judge: () => void): void {
    const look = (restsLeft: number): void => {
      const before = bytesReceived(client);
      setImmediate(() => {
        if (isOver()) return;
        if (bytesReceived(client) === before || restsLeft <= 0) judge();
        else this.#deps.clock.after(REST_MS, () => look(restsLeft - 1));
      });
    };
    look(Math.ceil(this.#times.commandMs / REST_MS));
  }
}

class DeadlineError extends Error {}

const NO_ANSWER = 'no answer in time';

/**
 * After these a new connection is needed: a server that went silent, one that is no longer the master (Sentinel names
 * the new one), or a login that was taken away.
 */
const isConnectionUseless = (reason: string): boolean =>
  reason === NO_ANSWER || /^(?:READONLY|MASTERDOWN|NOAUTH|LOADING)\b/.test(reason);

const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

/** The reason for the log: the error line of Redis, else a short text. It holds no secret. */
const reasonOf = (error: unknown): string => {
  if (error instanceof DeadlineError) return NO_ANSWER;
  if (!(error instanceof Error)) return 'failed';
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return NO_ANSWER;
  // The reason why the last node of a cluster failed.
  if ('lastNodeError' in error && error.lastNodeError) return reasonOf(error.lastNodeError);
  if (isReply(error)) return lineOf(error.message);
  if ('code' in error && typeof error.code === 'string') return error.code;
  // The error of a sentinel is in the middle of a text, whose other parts may name a host.
  const told = /\bERR\b.*|\b[A-Z]{5,}\b/.exec(error.message)?.[0];
  if (told !== undefined) return lineOf(told);
  return error.message.startsWith('All sentinels are unreachable') ? 'no sentinel names a master' : 'connection closed';
};

const MAX_LINE_CHARACTERS = 200;

/**
 * Redis repeats the arguments of a command that it does not know, and up to 6.2 the error of a script comes at the end.
 */
const lineOf = (message: string): string =>
  message
    .replace(/^ERR Error running script .*@user_script: ?[0-9]+: -?/, '')
    .replace(/,? with args beginning with.*/s, '')
    .slice(0, MAX_LINE_CHARACTERS);
