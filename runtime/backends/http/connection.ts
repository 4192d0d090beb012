import { buildConnector, Pool, type Dispatcher } from 'undici';
import {
  ForbiddenAddressError,
  guardedLookup,
  isForbiddenAddress,
  NO_PIPELINING,
  WholeBody,
} from '../../http/index.ts';
import { Share, type ByteBudget, type Clock, runInBatch } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { BackendRequest, BackendResponse, Fetch } from '../../outgoing/index.ts';
import { backendConnector, type CaBundle } from './ca-bundle.ts';
import { withConnectRetries } from './connect-retries.ts';
import { EventReader, ResponseTooLargeError } from './event-reader.ts';

/** The HTTP connections to one backend. */
export interface Connection {
  readonly fetch: Fetch;
  /** Lets requests that are under way finish, then closes the sockets. */
  readonly close: () => Promise<void>;
  /** Aborts all requests and closes the sockets. */
  readonly destroy: () => Promise<void>;
}

export interface ConnectionLimits {
  /** Sockets to the backend, for calls. */
  readonly connections: number;
  /** Sockets beside those, for lists, replies, cancellations and ends of sessions. */
  readonly controlConnections: number;
  /** Sockets beside those, for streams that stay open. */
  readonly streamConnections: number;
  /** Bytes of one response body, or of one message of an event stream. */
  readonly maxResponseBytes: number;
  /** Bytes of each response that need no room in the budget of all responses. */
  readonly uncountedBytes: number;
  readonly connectTimeoutMs: number;
}

export interface ConnectionDeps {
  readonly clock: Clock;
  /** Shared by the responses of all backends while they arrive. */
  readonly answers: ByteBudget;
  /** Authorities that a certificate is verified against; absent: those of the system. */
  readonly caBundle?: CaBundle | undefined;
}

/** After an event stream has answered it may end by itself, so that its socket is kept; after this it is cut. */
const DRAIN_MS = 1_000;

/** Opens no socket before the first request. Redirects are not followed. Timeouts are the caller's, by signal. */
export const openConnection = (origin: string, limits: ConnectionLimits, deps: ConnectionDeps): Connection => {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '');
  const how = { lookup: guardedLookup, timeout: limits.connectTimeoutMs, allowH2: false };
  const bundle = origin.startsWith('https:') ? deps.caBundle : undefined;
  let isDestroyed = false;
  const connector = bundle ? backendConnector(how, bundle) : buildConnector(how);
  const connect = withConnectRetries(connector, () => !isDestroyed);
  const poolOf = (connections: number): Pool =>
    new Pool(origin, {
      connections,
      connect,
      pipelining: NO_PIPELINING,
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    });
  const calls = poolOf(limits.connections);
  const control = poolOf(limits.controlConnections);
  const streams = poolOf(limits.streamConnections);
  const pools = { calls, control, stream: streams };
  const all = Object.values(pools);
  // A literal address never reaches `lookup`.
  const isForbidden = isForbiddenAddress(host);
  return {
    fetch: (request) =>
      new Promise((resolve, reject) => {
        if (isForbidden) return reject(new ForbiddenAddressError('link-local or metadata address'));
        const { lane = 'calls' } = request;
        // A stream that waits for another one to end might wait for ever.
        if (lane === 'stream' && streams.stats.size >= limits.streamConnections)
          return reject(new VmcpError('backend_unavailable', 'too many streams are open to this backend'));
        const exchange = new Exchange(request, limits, deps, { resolve, reject });
        pools[lane].dispatch(
          {
            method: request.method,
            path: request.path,
            headers: headersOf(request) as string[],
            body: bodyOf(request),
          },
          exchange,
        );
      }),
    close: async () => void (await Promise.allSettled(all.map((pool) => pool.close()))),
    destroy: async () => {
      isDestroyed = true;
      await Promise.allSettled(all.map((pool) => pool.destroy()));
    },
  };
};

/** Without its length a body in pieces would be sent chunked, which not every server takes. */
const headersOf = ({ headers, body }: BackendRequest): readonly string[] =>
  body && 'pieces' in body ? [...headers, 'content-length', String(body.bytes)] : headers;

/** undici sends any iterable; its types do not say so. */
const bodyOf = ({ body }: BackendRequest): Buffer | null =>
  body && 'pieces' in body ? (body.pieces as unknown as Buffer) : (body ?? null);

/** The event stream or the body ended before the response was complete. */
export class StreamEndedError extends Error {
  override readonly name = 'StreamEndedError';
}

interface Waiting {
  readonly resolve: (response: BackendResponse) => void;
  readonly reject: (error: unknown) => void;
}

/** One request and its response. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: BackendRequest;
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #answers: ByteBudget;
  /** Made for an answer that is not small. */
  #share: Share | undefined;
  readonly #waiting: Waiting;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: BackendResponse['headers'] = {};
  readonly #body = new WholeBody();
  #events: EventReader | undefined;
  #isSettled = false;
  #abandoned: Error | undefined;
  #cancelDrain: (() => void) | undefined;

  constructor(request: BackendRequest, limits: ConnectionLimits, { clock, answers }: ConnectionDeps, waiting: Waiting) {
    this.#request = request;
    this.#limits = limits;
    this.#clock = clock;
    this.#answers = answers;
    this.#waiting = waiting;
    request.idleTimeout.onAbandoned(this.#abandon, 'unsent');
  }

  /** Also works before the request has a socket: then the request is never sent. */
  readonly #abandon = (reason: Error): void => {
    this.#abandoned = reason;
    this.#fail(reason);
    this.#controller?.abort(reason);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abandoned) return controller.abort(this.#abandoned);
    this.#request.idleTimeout.onAbandoned(this.#abandon);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: BackendResponse['headers'],
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (status < 300 && isEventStream(headers['content-type'])) {
      const { onEvent, onOpened } = this.#request;
      this.#events = new EventReader(this.#limits.maxResponseBytes, (message) => this.#onMessage(message), onEvent);
      onOpened?.();
    } else {
      // Refreshed once for the head: a body that arrives slowly does not prove that the backend is working.
      this.#request.idleTimeout.refresh();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#events) {
      this.#events.push(chunk);
      this.#hold(controller, this.#events.heldBytes);
      return this.#pauseForClient(controller);
    }
    if (this.#body.length + chunk.length > this.#limits.maxResponseBytes)
      return controller.abort(new ResponseTooLargeError('response too large'));
    const announced = this.#headers['content-length'];
    this.#body.append(chunk, typeof announced === 'string' ? announced : undefined);
    this.#hold(controller, this.#body.length);
  }

  #hold(controller: Dispatcher.DispatchController, bytes: number): void {
    if (this.#isSettled) return;
    // A stream that stays open must not keep the room that its largest message took.
    if (bytes <= this.#limits.uncountedBytes) return this.#share?.release();
    this.#share ??= new Share(this.#answers);
    if (this.#share.resize(bytes)) return;
    controller.abort(new VmcpError('busy', 'too many large answers are under way; try again'));
  }

  /** Pauses backend and idle timeout until the client has read: the backend is not the one that is silent. */
  #pauseForClient(controller: Dispatcher.DispatchController): void {
    const backlog = this.#isSettled ? undefined : this.#request.backlog?.();
    if (!backlog) return;
    controller.pause();
    const goOn = this.#request.idleTimeout.pause();
    void backlog.then(() => {
      goOn();
      if (!controller.aborted) controller.resume();
    });
  }

  onResponseEnd(): void {
    this.#cancelDrain?.();
    if (this.#events && !this.#isSettled)
      return this.#fail(new StreamEndedError('the event stream ended without an answer'));
    this.#succeed(this.#body.take());
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#cancelDrain?.();
    const isCut = this.#status > 0 && !this.#abandoned && !isOwnAbort(error);
    this.#fail(isCut ? new StreamEndedError('the answer was cut off', { cause: error }) : error);
  }

  #onMessage(message: Buffer): void {
    if (this.#isSettled) return;
    if (this.#request.onMessage(message) === 'other') return;
    this.#succeed(message);
    const drain = this.#clock.after(DRAIN_MS, () => this.#controller?.abort(new Error('stream left open')));
    this.#cancelDrain = () => drain.cancel();
  }

  #succeed(body: Buffer): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const response = { status: this.#status, headers: this.#headers, body };
    // The budget is released only when the response is taken for the client: the backend has done its work.
    runInBatch(() => {
      this.#settle();
      this.#waiting.resolve(response);
    });
  }

  #fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#waiting.reject(error);
  }

  #settle(): void {
    this.#isSettled = true;
    this.#share?.release();
    this.#body.drop();
  }
}

/** Whether the exchange was aborted by this process. */
const isOwnAbort = (error: Error): boolean => error instanceof VmcpError || error instanceof ResponseTooLargeError;

const isEventStream = (contentType: unknown): boolean =>
  typeof contentType === 'string' && contentType.toLowerCase().startsWith('text/event-stream');
