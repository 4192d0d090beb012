import { VmcpError } from '../../errors.ts';
import { backoffMs, sleep, type Clock } from '../../process/index.ts';
import type { SubscriptionChange } from '../messages/backend-call.ts';
import { subscribeRequest, unsubscribeRequest } from '../messages/small-messages.ts';

export interface SubscriptionsDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Reopens the session, with this idle timeout. */
  readonly reopen: (idleTimeoutMs: number) => Promise<unknown>;
  /** Sends a request whose response is ignored. */
  readonly post: (request: Buffer) => void;
}

/** Further ones are refused: what is not known here could neither be renewed nor ended. */
const MAX_SUBSCRIPTIONS = 1_024;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };

/**
 * The resources that a session has subscribed to. They end with the session, or over HTTP+SSE with its stream, which a
 * client between two calls does not notice: so the session is reopened, and the resources are subscribed to again.
 */
export class Subscriptions {
  readonly #deps: SubscriptionsDeps;
  /** JSON texts of URIs. */
  readonly #uris = new Set<string>();
  /** Idle timeout of the last call that began a subscription. */
  #idleTimeoutMs = 0;
  #failures = 0;
  #isWaiting = false;
  readonly #stopped = new AbortController();

  constructor(deps: SubscriptionsDeps) {
    this.#deps = deps;
  }

  /**
   * Notes the subscription of a call that is about to be sent: the session may be lost before the response arrives.
   * Throws `busy` when there are too many.
   */
  note({ kind, uri }: SubscriptionChange, idleTimeoutMs: number): void {
    if (kind === 'ends') return void this.#uris.delete(uri);
    if (this.#uris.size >= MAX_SUBSCRIPTIONS && !this.#uris.has(uri))
      throw new VmcpError('busy', 'too many subscriptions; end one');
    this.#uris.add(uri);
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** JSON texts of the URIs. */
  get uris(): readonly string[] {
    return [...this.#uris];
  }

  /** Unsubscribes from a resource (JSON text of its URI). */
  end(uri: string): void {
    this.#uris.delete(uri);
    this.#deps.post(unsubscribeRequest(uri, Buffer.from(`"vmcp-unsubscribe"`)));
  }

  get isEmpty(): boolean {
    return this.#uris.size === 0;
  }

  /** The session is open; once `ready` resolves, notifications can arrive and the resources are subscribed to again. */
  opened(ready: Promise<void>): void {
    this.#failures = 0;
    const known = [...this.#uris];
    void ready.then(() => {
      for (const [index, uri] of known.entries())
        if (this.#uris.has(uri)) this.#deps.post(subscribeRequest(uri, Buffer.from(`"vmcp-subscribe-${index}"`)));
    });
  }

  /** The session is over, or could not be opened: tries again after a backoff. */
  lost(): void {
    const { clock, random, reopen } = this.#deps;
    if (this.isEmpty || this.#isWaiting || this.#stopped.signal.aborted) return;
    this.#failures += 1;
    this.#isWaiting = true;
    void sleep(clock, backoffMs(this.#failures, RETRY, random), this.#stopped.signal).then(() => {
      this.#isWaiting = false;
      if (!this.#stopped.signal.aborted) reopen(this.#idleTimeoutMs).catch(() => this.lost());
    });
  }

  stop(): void {
    this.#stopped.abort();
  }
}
