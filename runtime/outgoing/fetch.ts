import type { SentText } from '../json/index.ts';

/** One HTTP exchange with a backend. Header names and values in turn; the path is below the backend's origin. */
export interface BackendRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: SentText | undefined;
  /**
   * Gets each message of an event stream; `answer` ends the exchange with that message as its body. Called for
   * `text/event-stream` responses only.
   */
  readonly onMessage: (message: Buffer) => 'answer' | 'other';
  /**
   * Called after each piece of an event stream: no more of the stream is read until the returned promise has resolved.
   */
  readonly backlog?: () => Promise<void> | undefined;
  /** Called when an event stream has begun. */
  readonly onOpened?: () => void;
  /** Gets the events of an event stream whose type is not `message`. */
  readonly onEvent?: (type: string, data: Buffer) => void;
  /** The awaited JSON-RPC response, where it comes on another stream than the HTTP response (HTTP+SSE). */
  readonly awaits?: AwaitedAnswer;
  readonly idleTimeout: IdleTimeout;
  /**
   * `control`: uses separate connections, which hanging calls cannot occupy. `stream`: uses a third set, since streams
   * keep their connections for long.
   */
  readonly lane?: 'control' | 'stream';
}

export interface AwaitedAnswer {
  /** JSON text of the id of the JSON-RPC request. */
  readonly id: Buffer;
  /** Whether the request is a call, whose client gets the backend's notifications and requests. */
  readonly isCall: boolean;
}

/** The idle timeout of one exchange: like an AbortSignal, but it can be extended. */
export interface IdleTimeout {
  /** Restarts the timeout: the backend has shown that it is working. */
  refresh(): void;
  /**
   * Suspends the timeout until the returned function is called, while the gateway waits for the client and not for the
   * backend.
   */
  pause(): () => void;
  /**
   * Sets the function that aborts the exchange; it is called at once when the exchange is abandoned already. Each call
   * replaces the previous function. `unsent`: no byte of the request has left the gateway, or the backend has not
   * executed it; a call that is given up then needs no word to the backend.
   */
  onAbandoned(abort: (reason: Error) => void, state?: Unsent): void;
}

export type Unsent = 'unsent';

/** The response to a `BackendRequest`. */
export interface BackendResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The whole body, or the message of an event stream that is the response. */
  readonly body: Buffer;
}

/** Sends one request to a backend. Rejects when there is no response; HTTP error statuses resolve. */
export type Fetch = (request: BackendRequest) => Promise<BackendResponse>;
