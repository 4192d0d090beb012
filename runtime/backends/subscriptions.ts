import { backoffMs, sleep, type Clock } from '../clock.ts';
import { subscribeRequest } from './small-messages.ts';

/** What a call does to the subscriptions of its session. */
export interface SubscriptionChange {
  readonly kind: 'begins' | 'ends';
  /** JSON text. */
  readonly uri: string;
}

export interface SubscriptionsDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Opens the session anew, after at most so much silence. */
  readonly reopen: (silenceMs: number) => Promise<unknown>;
  /** Sends a request whose answer nobody waits for. */
  readonly tell: (request: Buffer) => void;
}

/** One more is not renewed. */
const MAX_SUBSCRIPTIONS = 1_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };

/**
 * The resources that a session has subscribed to. They end with the session, or over HTTP+SSE with its stream, and a client between two
 * calls does not see that: so the session is opened anew for them, and they are begun there anew.
 */
export class Subscriptions {
  readonly #deps: SubscriptionsDeps;
  /** JSON texts of URIs. */
  readonly #uris = new Set<string>();
  /** Of the last call that began one. */
  #silenceMs = 0;
  #failures = 0;
  #isWaiting = false;
  readonly #stopped = new AbortController();

  constructor(deps: SubscriptionsDeps) {
    this.#deps = deps;
  }

  /** A call is about to be sent. A subscription counts from then on: the session may be lost before the answer comes. */
  note({ kind, uri }: SubscriptionChange, silenceMs: number): void {
    if (kind === 'ends') this.#uris.delete(uri);
    if (kind === 'ends' || this.#uris.size >= MAX_SUBSCRIPTIONS) return;
    this.#uris.add(uri);
    this.#silenceMs = silenceMs;
  }

  get isEmpty(): boolean {
    return this.#uris.size === 0;
  }

  /** The session is open; `ready` resolves when the backend can tell of something. */
  opened(ready: Promise<void>): void {
    this.#failures = 0;
    const known = [...this.#uris];
    void ready.then(() => {
      for (const [index, uri] of known.entries())
        if (this.#uris.has(uri)) this.#deps.tell(subscribeRequest(uri, Buffer.from(`"vmcp-subscribe-${index}"`)));
    });
  }

  /** The session is over, or was not to be had. */
  lost(): void {
    const { clock, random, reopen } = this.#deps;
    if (this.isEmpty || this.#isWaiting || this.#stopped.signal.aborted) return;
    this.#failures += 1;
    this.#isWaiting = true;
    void sleep(clock, backoffMs(this.#failures, RETRY, random), this.#stopped.signal).then(() => {
      this.#isWaiting = false;
      if (!this.#stopped.signal.aborted) reopen(this.#silenceMs).catch(() => this.lost());
    });
  }

  stop(): void {
    this.#stopped.abort();
  }
}
