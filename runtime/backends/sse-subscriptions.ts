import { backoffMs, sleep, type Clock } from '../clock.ts';
import { isObject } from '../json-bytes.ts';
import { memberAt } from '../json-members.ts';
import { readServerMessage } from './server-message.ts';
import type { BackendCall } from './session.ts';
import { subscribeRequest } from './small-messages.ts';

/** What opens a session. */
export type Opening = Pick<BackendCall, 'fetch' | 'silenceMs'>;

export interface SseSubscriptionsDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Opens the session anew. */
  readonly reopen: (how: Opening) => Promise<unknown>;
  /** Sends a request whose answer nobody waits for. */
  readonly tell: (request: Buffer) => void;
}

/** One more is not renewed. */
const MAX_SUBSCRIPTIONS = 1_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };

/**
 * The resources that a session of HTTP+SSE has subscribed to. They end with its stream, which a client between two calls does not see:
 * so the session is opened anew for them, and they are begun there anew.
 */
export class SseSubscriptions {
  readonly #deps: SseSubscriptionsDeps;
  /** JSON texts of URIs. */
  readonly #uris = new Set<string>();
  #opening: Opening | undefined;
  #failures = 0;
  readonly #stopped = new AbortController();

  constructor(deps: SseSubscriptionsDeps) {
    this.#deps = deps;
  }

  /** A call is about to be sent. A subscription counts from then on: the stream may be lost before the answer comes. */
  note({ bytes, fetch, silenceMs }: BackendCall): void {
    const message = readServerMessage(bytes);
    if (message?.kind !== 'request' || !message.method.startsWith('resources/')) return;
    const { method, params } = message;
    const uri = params && isObject(bytes, params.start) ? memberAt(bytes, params.start, 'uri') : undefined;
    const text = uri && bytes.toString('utf8', uri.start, uri.end);
    if (text === undefined) return;
    if (method === 'resources/unsubscribe') this.#uris.delete(text);
    if (method !== 'resources/subscribe' || this.#uris.size >= MAX_SUBSCRIPTIONS) return;
    this.#uris.add(text);
    this.#opening = { fetch, silenceMs };
  }

  /** The session is open. */
  opened(): void {
    this.#failures = 0;
    for (const uri of this.#uris) this.#deps.tell(subscribeRequest(uri));
  }

  /** The stream has ended, or was not to be had. */
  lost(): void {
    const { clock, random, reopen } = this.#deps;
    const opening = this.#opening;
    if (!opening || this.#uris.size === 0 || this.#stopped.signal.aborted) return;
    this.#failures += 1;
    void sleep(clock, backoffMs(this.#failures, RETRY, random), this.#stopped.signal).then(() => {
      // That it is not to be had, `lost` is told again.
      if (!this.#stopped.signal.aborted) reopen(opening).catch(() => {});
    });
  }

  stop(): void {
    this.#stopped.abort();
  }
}
