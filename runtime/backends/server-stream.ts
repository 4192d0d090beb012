import type { SessionClient } from '../call.ts';
import { backoffMs, sleep, type Clock } from '../clock.ts';
import type { Attention, BackendRequest, Fetch } from '../outgoing/index.ts';
import { StreamEndedError } from './connection.ts';
import { ABOUT_CALLS, LIST_CHANGES } from './call-stream.ts';
import { readServerMessage, type ServerMessage } from './server-message.ts';
import { ServerRequests } from './server-requests.ts';
import { isWantedLog } from './small-messages.ts';

export interface ServerStreamDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** What opens the stream. */
  readonly request: Pick<BackendRequest, 'method' | 'path' | 'headers' | 'body'>;
  readonly fetch: Fetch;
  /** Stands still while the client has the word. */
  readonly attention: Pick<Attention, 'pause'>;
  /** Whom the session is for. */
  readonly client: Pick<SessionClient, 'notify' | 'ask' | 'logLevel'>;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
  /** One of the backend's lists has changed. */
  readonly onListChanged: () => void;
  /** What happened meanwhile was told to nobody. */
  readonly onGap: () => void;
  /** The backend may not know the session any more. */
  readonly onUnknown?: () => void;
}

/** What concerns the client of the session, on whatever stream it comes. */
const RELAYED: ReadonlySet<string> = new Set([...ABOUT_CALLS, 'notifications/resources/updated']);

const GIVEN_UP = new Error('no longer wanted');

/** For a backend to open the stream, before what depends on it goes on. */
const OPENING_MS = 1_000;

/** A stream that lasted so long was a good one. */
const LASTING_MS = 10_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };
/** Whoever has the stream may be gone, and the session is deaf until it is noticed. */
const HELD_RETRY = { baseMs: 1_000, maxMs: 10_000 };

/** `none`: it is not asked again. `held`: somebody else has the stream, or we still do as far as the backend knows. */
type End = 'none' | 'unknown' | 'held' | 'ended' | 'failed';

/** What it means that there is no stream, by HTTP status. A backend without such streams answers 405 (MCP), or as it answers any stranger. */
export const endOf = (status: number): End => {
  if (status === 409) return 'held';
  if (status === 400 || status === 404) return 'unknown';
  return status >= 500 || LATER.has(status) ? 'failed' : 'none';
};

/** A login that may be renewed, and what asks for patience. */
const LATER: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/**
 * The stream that a backend tells and asks things on between calls (MCP "Listening for Messages from the Server"), reconnected for as
 * long as its session lasts.
 */
export class ServerStream {
  readonly #deps: ServerStreamDeps;
  readonly #requests: ServerRequests;
  readonly #closed = new AbortController();
  readonly #firstTried = Promise.withResolvers<void>();
  #abort: ((reason: Error) => void) | undefined;

  constructor(deps: ServerStreamDeps) {
    this.#deps = deps;
    const { backend, client, reply, attention } = deps;
    this.#requests = new ServerRequests({ backend, client, reply, attention });
  }

  /** Resolves once the backend has opened the stream, has refused it, or has said nothing for a second. */
  get firstTried(): Promise<void> {
    return this.#firstTried.promise;
  }

  start(): void {
    // Some send the head of a stream with the first event on it.
    void sleep(this.#deps.clock, OPENING_MS, this.#closed.signal).then(this.#firstTried.resolve);
    void this.#run();
  }

  close(): void {
    this.#closed.abort();
    this.#requests.end();
    this.#abort?.(GIVEN_UP);
  }

  async #run(): Promise<void> {
    const { clock, random, onGap, onUnknown } = this.#deps;
    let failures = 0;
    while (!this.#closed.signal.aborted) {
      const since = clock.now();
      const end = await this.#connect();
      if (end === 'none') return;
      if (end === 'unknown' && !this.#closed.signal.aborted) onUnknown?.();
      // One that ends as soon as it has begun is no better than none.
      failures = end === 'ended' && clock.now() - since >= LASTING_MS ? 1 : failures + 1;
      await sleep(clock, backoffMs(failures, end === 'held' ? HELD_RETRY : RETRY, random), this.#closed.signal);
      if (!this.#closed.signal.aborted) onGap();
    }
  }

  async #connect(): Promise<End> {
    const { request, fetch } = this.#deps;
    const attention: Attention = {
      heard: () => {},
      pause: () => () => {},
      onAbandoned: (abort) => {
        this.#abort = abort;
        if (this.#closed.signal.aborted) abort(GIVEN_UP);
      },
    };
    try {
      const { status } = await fetch({
        ...request,
        attention,
        onMessage: this.#hear,
        onOpened: this.#firstTried.resolve,
        lane: 'stream',
      });
      return endOf(status);
    } catch (error) {
      return error instanceof StreamEndedError ? 'ended' : 'failed';
    } finally {
      this.#firstTried.resolve();
    }
  }

  readonly #hear = (bytes: Buffer): 'other' => {
    const message = readServerMessage(bytes);
    if (message?.kind === 'request') this.#requests.take(bytes, message);
    if (message?.kind === 'notification') this.#told(bytes, message);
    return 'other';
  };

  #told(bytes: Buffer, message: Extract<ServerMessage, { kind: 'notification' }>): void {
    const { client, onListChanged } = this.#deps;
    if (LIST_CHANGES.has(message.method)) return onListChanged();
    if (message.method === 'notifications/cancelled') return this.#requests.cancel(bytes, message.params);
    if (RELAYED.has(message.method) && isWantedLog(bytes, message, client.logLevel)) client.notify(bytes);
  }
}
