import type { SentText } from '../text-pieces.ts';

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
  /** Asked after each piece of an event stream: no more of it is read until what it gives has resolved. */
  readonly backlog?: () => Promise<void> | undefined;
  /** An event stream has begun. */
  readonly onOpened?: () => void;
  /** Gets the events of an event stream that are of another type. */
  readonly onEvent?: (type: string, data: Buffer) => void;
  /** What is waited for where the answer to the request in the body comes on another stream than the response (HTTP+SSE). */
  readonly awaits?: AwaitedAnswer;
  readonly attention: Attention;
  /**
   * `control`: over connections of its own, which calls that hang cannot take away. `stream`: over others again, since it keeps its
   * connection for long.
   */
  readonly lane?: 'control' | 'stream';
}

export interface AwaitedAnswer {
  /** JSON text of the id of the JSON-RPC request. */
  readonly id: Buffer;
  /** It is a call, whose client hears and answers what the backend says meanwhile. */
  readonly isCall: boolean;
}

/** Who waits for an exchange, and for how long: an AbortSignal that can also be told to wait on. */
export interface Attention {
  /** The backend has shown that it is at work. */
  heard(): void;
  /** Somebody else has the word, until the returned function is called: silence is not the backend's. */
  pause(): () => void;
  /** Sets what breaks the exchange off; called at once when nobody waits any more. One at a time. */
  onAbandoned(abort: (reason: Error) => void): void;
}

export interface BackendResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The whole body, or of an event stream the message that answered. */
  readonly body: Buffer;
}

export type Fetch = (request: BackendRequest) => Promise<BackendResponse>;
