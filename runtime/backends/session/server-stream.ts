import type { SessionClient } from '../../call/index.ts';
import { backoffMs, sleep, type Clock } from '../../process/index.ts';
import type { IdleTimeout, BackendRequest, Fetch } from '../../outgoing/index.ts';
import { StreamEndedError } from '../http/connection.ts';
import { CALL_NOTIFICATIONS, LIST_CHANGES } from '../messages/call-stream.ts';
import { readServerMessage, type ServerMessage } from '../messages/server-message.ts';
import { ServerRequests } from '../messages/server-requests.ts';
import { isWantedLog } from '../messages/small-messages.ts';

export interface ServerStreamDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** The request that opens the stream. */
  readonly request: Pick<BackendRequest, 'method' | 'path' | 'headers' | 'body'>;
  readonly fetch: Fetch;
  /** Paused while the client has to answer. */
  readonly idleTimeout: Pick<IdleTimeout, 'pause'>;
  /** The client that the session is for. */
  readonly client: Pick<SessionClient, 'notify' | 'ask' | 'logLevel'>;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
  /** Called when one of the backend's lists has changed. */
  readonly onListChanged: () => void;
  /** Called before the stream is reopened: notifications meanwhile were lost. */
  readonly onGap: () => void;
  /** Called when the backend may no longer know the session. */
  readonly onUnknown?: () => void;
}

/** Notifications that go to the client of the session. */
const RELAYED: ReadonlySet<string> = new Set([...CALL_NOTIFICATIONS, 'notifications/resources/updated']);

const GIVEN_UP = new Error('no longer wanted');

/** Time for a backend to open the stream before work that depends on it continues. */
const OPENING_MS = 1_000;

/** A stream that ends after this time was not a failure. */
const LASTING_MS = 10_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };
/** The holder of the stream may be gone, and no notification arrives until the backend has noticed that. */
const HELD_RETRY = { baseMs: 1_000, maxMs: 10_000 };

/**
 * `none`: the stream is not requested again. `held`: another client holds the stream, or this one still does as far as
 * the backend knows.
 */
type StreamEnd = 'none' | 'unknown' | 'held' | 'ended' | 'failed';

/**
 * Why there is no stream, by HTTP status. A backend without such streams answers 405 (MCP), or as for any unknown path.
 */
export const streamEndOf = (status: number): StreamEnd => {
  if (status === 409) return 'held';
  if (status === 400 || status === 404) return 'unknown';
  return status >= 500 || RETRYABLE_STATUSES.has(status) ? 'failed' : 'none';
};

/** Statuses after which a later request may succeed: credentials may be renewed, overload may pass. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/**
 * The stream on which a backend sends notifications and requests between calls (MCP "Listening for Messages from the
 * Server"), reconnected for as long as its session lasts.
 */
export class ServerStream {
  readonly #deps: ServerStreamDeps;
  readonly #requests: ServerRequests;
  readonly #closed = new AbortController();
  readonly #firstTried = Promise.withResolvers<void>();
  #abort: ((reason: Error) => void) | undefined;

  constructor(deps: ServerStreamDeps) {
    this.#deps = deps;
    const { backend, client, reply, idleTimeout } = deps;
    this.#requests = new ServerRequests({ backend, client, reply, idleTimeout });
  }

  /** Resolves once the backend has opened or refused the stream, after a second at the latest. */
  get firstTried(): Promise<void> {
    return this.#firstTried.promise;
  }

  start(): void {
    // Some backends send the response head only with the first event.
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
      // A stream that ends as soon as it has begun counts as a failure.
      failures = end === 'ended' && clock.now() - since >= LASTING_MS ? 1 : failures + 1;
      await sleep(clock, backoffMs(failures, end === 'held' ? HELD_RETRY : RETRY, random), this.#closed.signal);
      if (!this.#closed.signal.aborted) onGap();
    }
  }

  async #connect(): Promise<StreamEnd> {
    const { request, fetch } = this.#deps;
    const idleTimeout: IdleTimeout = {
      refresh: () => {},
      pause: () => () => {},
      onAbandoned: (abort) => {
        this.#abort = abort;
        if (this.#closed.signal.aborted) abort(GIVEN_UP);
      },
    };
    try {
      const { status } = await fetch({
        ...request,
        idleTimeout,
        onMessage: this.#receive,
        onOpened: this.#firstTried.resolve,
        lane: 'stream',
      });
      return streamEndOf(status);
    } catch (error) {
      return error instanceof StreamEndedError ? 'ended' : 'failed';
    } finally {
      this.#firstTried.resolve();
    }
  }

  readonly #receive = (bytes: Buffer): 'other' => {
    const message = readServerMessage(bytes);
    if (message?.kind === 'request') this.#requests.take(bytes, message);
    if (message?.kind === 'notification') this.#takeNotification(bytes, message);
    return 'other';
  };

  #takeNotification(bytes: Buffer, message: Extract<ServerMessage, { kind: 'notification' }>): void {
    const { client, onListChanged } = this.#deps;
    if (LIST_CHANGES.has(message.method)) return onListChanged();
    if (message.method === 'notifications/cancelled') return this.#requests.cancel(bytes, message.params);
    if (RELAYED.has(message.method) && isWantedLog(bytes, message, client.logLevel)) client.notify(bytes);
  }
}
