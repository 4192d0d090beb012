import type { VmcpError } from '../errors.ts';

/** The answer to one HTTP request, by the way it is sent. */
export type Reply = WholeReply | StreamReply;

/** An answer in one piece; where messages were sent before it, the last event of their stream. */
export interface WholeReply {
  readonly kind: 'whole';
  readonly status: number;
  /** A complete JSON-RPC message; absent for 202 and for a cancelled request. */
  readonly body?: Buffer;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** Why the request was refused or failed, for logs and audit. */
  readonly refusal?: VmcpError;
}

/** An event stream that stays open until either side ends it. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly headers?: readonly string[];
  /** The last message, when the gateway ends the stream. */
  readonly farewell?: Buffer;
  readonly open: (stream: OpenStream) => void;
  /** Called instead of `open` when the client has gone meanwhile. */
  readonly abandon?: () => void;
}

/** An open event stream to a client. */
export interface OpenStream {
  /** Sends one event of type `message`, or of another type. False when the stream is closed. */
  readonly send: (data: Buffer, event?: string, id?: string) => boolean;
  /** As `Inbound.backlog`. */
  readonly backlog: () => Promise<void> | undefined;
  /** Ends the stream. */
  readonly end: () => void;
  /** Calls `run` once the stream has ended, for whatever reason. */
  readonly onClosed: (run: () => void) => void;
}
