import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from './caller.ts';

/** The head of a request, known before its body is read; enough to authenticate the caller. */
export interface RequestHead {
  /** The HTTP method. */
  readonly http: string;
  readonly headers: IncomingHttpHeaders;
  /**
   * Address of the client, or of a proxy that is not trusted to name the client; undefined when the connection is gone.
   */
  readonly clientAddress: string | undefined;
  /** Scheme and host that the client has used, as far as trusted proxies tell. Absent, or undefined: not known. */
  origin?(): string | undefined;
  /** Id of this request in answers and logs; generated on first use. */
  correlationId(): string;
}

/** One HTTP request that has passed the checks of HTTP itself, with the means to send messages to its client. */
export interface Inbound extends RequestHead {
  /** GET opens a stream, DELETE ends a session; neither has a body. */
  readonly http: 'POST' | 'GET' | 'DELETE';
  /** The endpoint: Streamable HTTP, or one of the two of HTTP+SSE (2024-11-05). */
  readonly endpoint: 'mcp' | 'sse' | 'messages';
  /** The part of the URL after `?`, empty without one. */
  readonly query: string;
  /** The session id that the client sends; undefined without one. */
  readonly sessionId: string | undefined;
  /** Empty until `receive` has resolved. */
  readonly body: Buffer;
  /**
   * Reads the body, up to the size that this caller may send. Returns a promise where there is a body. Throws
   * VmcpError.
   */
  receive(caller: Caller): void | Promise<void>;
  /**
   * Sends one whole JSON-RPC message before the answer; the first one makes the answer an event stream. False when the
   * message cannot be sent any more: the client has gone, or reads so slowly that it was cut off.
   */
  send(message: Buffer): boolean;
  /**
   * Undefined while the client keeps up with reading; else resolves once the client has read most of the backlog, or
   * has gone.
   */
  backlog(): Promise<void> | undefined;
  /**
   * Calls `run` once when the client goes away before it has its answer. In 2026-07-28 that is a cancellation, in
   * earlier revisions it is not.
   */
  onGone(run: () => void): void;
  /** Lets the stream outlive its connection. Absent where the answer is sent on another stream. */
  record?(stream: StreamRecord): void;
}

/** A stream that its client may resume on another connection. */
export interface StreamRecord {
  /** Whether anything was sent on the stream. */
  readonly isBegun: boolean;
  /** Attaches the first connection. */
  readonly begin: (sink: EventSink) => void;
  /** Detaches a lost connection, unless another one has replaced it. */
  readonly disconnect: (sink: EventSink) => void;
  readonly send: (data: Buffer) => boolean;
  readonly finish: (last: Buffer | undefined) => void;
}

/** One connection that receives the events of a stream. */
export interface EventSink {
  /** False when the connection is closed. */
  readonly send: (data: Buffer, id: string) => boolean;
  readonly end: () => void;
}
