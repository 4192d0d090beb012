import type { SessionClient } from '../call.ts';
import { backoffMs, sleep, type Clock } from '../clock.ts';
import { LIST_CHANGED } from '../listed.ts';
import type { Attention, BackendRequest, Fetch } from '../outgoing/index.ts';
import { StreamEndedError } from './connection.ts';
import { ABOUT_CALLS } from './call-stream.ts';
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
  /** Stands still while the client has the word; absent: nobody's clock runs. */
  readonly attention?: Pick<Attention, 'pause'>;
  /** Whom the session is for. */
  readonly client: Pick<SessionClient, 'notify' | 'ask' | 'logLevel'>;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
  /** One of the backend's lists has changed, or may have while nobody listened. */
  readonly onListChanged: () => void;
}

/** What concerns the client of the session, on whatever stream it comes. */
const RELAYED: ReadonlySet<string> = new Set([...ABOUT_CALLS, 'notifications/resources/updated']);

const LIST_CHANGES: ReadonlySet<string> = new Set(Object.values(LIST_CHANGED));

/** A stream that lasted so long was a good one. */
const LASTING_MS = 10_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };

/**
 * The stream that a backend tells and asks things on between calls (MCP "Listening for Messages from the Server"), reconnected for as
 * long as its session lasts. A backend that has none answers 405, and is not asked again.
 */
export class ServerStream {
  readonly #deps: ServerStreamDeps;
  readonly #requests: ServerRequests;
  readonly #closed = new AbortController();
  #abort: ((reason: Error) => void) | undefined;

  constructor(deps: ServerStreamDeps) {
    this.#deps = deps;
    const { backend, client, reply, attention = { pause: () => () => {} } } = deps;
    this.#requests = new ServerRequests({ backend, ask: client.ask, reply, attention });
  }

  start(): void {
    void this.#run();
  }

  close(): void {
    this.#closed.abort();
    this.#requests.end();
    this.#abort?.(new Error('no longer wanted'));
  }

  async #run(): Promise<void> {
    const { clock, random, onListChanged } = this.#deps;
    let failures = 0;
    while (!this.#closed.signal.aborted) {
      const since = clock.now();
      const end = await this.#connect();
      if (end === 'refused') return;
      // One that ends as soon as it has begun is no better than none.
      failures = end === 'ended' && clock.now() - since >= LASTING_MS ? 1 : failures + 1;
      await sleep(clock, backoffMs(failures, RETRY, random), this.#closed.signal);
      // What happened meanwhile was told to nobody.
      if (!this.#closed.signal.aborted) onListChanged();
    }
  }

  async #connect(): Promise<'refused' | 'ended' | 'failed'> {
    const { request, fetch } = this.#deps;
    const attention: Attention = {
      heard: () => {},
      pause: () => () => {},
      onAbandoned: (abort) => {
        this.#abort = abort;
      },
    };
    try {
      const { status } = await fetch({
        ...request,
        attention,
        onMessage: this.#hear,
        lane: 'stream',
      });
      return status < 500 ? 'refused' : 'failed';
    } catch (error) {
      return error instanceof StreamEndedError ? 'ended' : 'failed';
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
