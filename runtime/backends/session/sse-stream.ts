import type { Clock } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { IdleTimeout, BackendRequest, BackendResponse, Fetch } from '../../outgoing/index.ts';
import { redirected } from './handshake.ts';
import { invalidAnswer } from './answer.ts';
import { SseRequest } from './sse-request.ts';
import { receiverOf } from './sse-routing.ts';

export interface SseStreamDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** Called when the stream has ended, for whatever reason. */
  readonly onEnded: () => void;
}

const HEADERS = ['accept', 'text/event-stream', 'cache-control', 'no-store'];
const REDIRECTS = 3;
const MAX_ENDPOINT_BYTES = 8 * 1024;

/**
 * The event stream of one session of HTTP+SSE (MCP 2024-11-05, "HTTP with SSE"): its first event names the endpoint to
 * POST to, and all answers come on it.
 */
export class SseStream {
  readonly #deps: SseStreamDeps;
  readonly #waiting = new Set<SseRequest>();
  /** Path and query to POST to. */
  #endpoint: string | undefined;
  #listener: BackendRequest['onMessage'] | undefined;
  readonly #end = Promise.withResolvers<never>();
  /** Why the stream has ended. */
  #reason: Error | undefined;
  #abort: ((reason: Error) => void) | undefined;

  constructor(deps: SseStreamDeps) {
    this.#deps = deps;
    this.#end.promise.catch(() => {});
  }

  /**
   * Resolves once requests can be sent; follows redirects on the same origin. Throws VmcpError, and what the exchange
   * throws.
   */
  async open(url: string, fetch: Fetch, idleTimeout: IdleTimeout): Promise<void> {
    let at = new URL(url);
    for (let redirects = 0; ; redirects += 1) {
      const refusal = await this.#get(at, fetch, idleTimeout);
      if (!refusal) return;
      const next = redirects < REDIRECTS ? redirected(at, refusal, MOVED) : undefined;
      if (!next) throw noStream(this.#deps.backend, refusal.status);
      at = next;
    }
  }

  /** Resolves with undefined once the endpoint is known, or with the response that is no stream. */
  #get(at: URL, fetch: Fetch, idleTimeout: IdleTimeout): Promise<BackendResponse | undefined> {
    idleTimeout.onAbandoned((reason) => this.end(reason));
    return new Promise((resolve, reject) => {
      const exchange = fetch({
        method: 'GET',
        path: at.pathname + at.search,
        headers: HEADERS,
        body: undefined,
        lane: 'stream',
        idleTimeout: this.#idleTimeout,
        onMessage: this.#receive,
        onEvent: (type, data) => {
          if (type !== 'endpoint' || this.#endpoint !== undefined) return;
          this.#endpoint = this.#endpointIn(data, at);
          resolve(undefined);
        },
      });
      exchange.then(resolve).catch((error: unknown) => {
        reject(error);
        this.end(asError(error));
      });
    });
  }

  /** The stream has no timeout of its own, as it outlives the call that has opened it. */
  readonly #idleTimeout: IdleTimeout = {
    refresh: () => {},
    pause: () => () => {},
    onAbandoned: (abort) => {
      if (this.#reason) abort(this.#reason);
      else this.#abort = abort;
    },
  };

  /**
   * Path and query of the endpoint event. Throws for another origin: the content of a response must not decide where
   * requests, with their credentials, go.
   */
  #endpointIn(data: Buffer, base: URL): string {
    const url = data.length <= MAX_ENDPOINT_BYTES ? URL.parse(data.toString(), base.href) : null;
    if (url?.origin === base.origin) return url.pathname + url.search;
    const what = url ? 'names an endpoint of another origin' : 'names an endpoint that is no address';
    throw new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" ${what}`);
  }

  /** Sends a message; resolves with the response on the stream where one is awaited, else with that of the POST. */
  async post(fetch: Fetch, request: BackendRequest): Promise<BackendResponse> {
    if (this.#reason || this.#endpoint === undefined) return GONE;
    if (!request.awaits) return fetch({ ...request, path: this.#endpoint });
    const waiting = new SseRequest(request, request.awaits);
    this.#waiting.add(waiting);
    try {
      return await waiting.send(fetch, this.#endpoint, this.#deps.clock);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /**
   * Passes the session's messages to `request` until the stream ends or the request is abandoned, which rejects. Never
   * resolves.
   */
  listen({ onMessage, idleTimeout }: BackendRequest): Promise<BackendResponse> {
    if (this.#reason) return Promise.resolve(GONE);
    this.#listener = onMessage;
    const abandoned = Promise.withResolvers<never>();
    idleTimeout.onAbandoned((reason) => {
      if (this.#listener === onMessage) this.#listener = undefined;
      abandoned.reject(reason);
    });
    return Promise.race([this.#end.promise, abandoned.promise]);
  }

  /** Pauses all calls while the client has to answer: the stream does not say which call the question belongs to. */
  readonly pause = (): (() => void) => {
    const goOn = [...this.#waiting].map((request) => request.pause());
    return () => goOn.forEach((each) => each());
  };

  /** Ends the stream; all waiting requests reject with `reason`. */
  end(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#abort?.(reason);
    for (const request of this.#waiting) request.fail(reason);
    this.#end.reject(reason);
    this.#deps.onEnded();
  }

  readonly #receive = (bytes: Buffer): 'other' => {
    const waiting = [...this.#waiting];
    const to = receiverOf(bytes, waiting);
    if (to.kind === 'answered') to.request.answered(bytes);
    if (to.kind === 'call') to.call.receive(bytes);
    if (to.kind === 'all') for (const request of waiting) if (request.isCall) request.receive(bytes);
    if (to.kind === 'session' || to.kind === 'all') this.#listener?.(bytes);
    return 'other';
  };
}

/** The response in place of one when the stream has ended, as for an unknown session: nothing was sent. */
export const GONE: BackendResponse = { status: 404, headers: {}, body: Buffer.alloc(0) };

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error('unknown'));

/** Redirects of a GET. */
const MOVED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const noStream = (backend: string, status: number): VmcpError => {
  if (status === 401 || status === 403 || status >= 500) return invalidAnswer(backend, status);
  return new VmcpError(
    'backend_unavailable',
    `backend "${backend}" opens no event stream: its transport may have to be streamable-http`,
    { detail: `HTTP ${status}` },
  );
};
