import type { VmcpError } from '../errors.ts';

/** The answer to one HTTP request, by the way it is sent. */
export type Reply = WholeReply | PageReply | StreamReply;

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

/**
 * A page of a list, with status 200 and never an error. Many answers share its bytes, which are not copied for each of
 * them.
 */
export interface PageReply {
  readonly kind: 'page';
  /** JSON text of the request's id. */
  readonly id: Buffer;
  /** JSON text of the result. */
  readonly page: Buffer;
  readonly headers?: undefined;
}

/** What comes before a result and after it in the response to this id, each byte as one character (latin1). */
export const aroundResult = (id: Buffer): readonly [before: string, after: string] => [
  `{"jsonrpc":"2.0","id":${id.toString('latin1')},"result":`,
  '}',
];

/** The JSON-RPC response with this id and result (JSON texts). */
export const responseWith = (id: Buffer, result: Buffer): Buffer => {
  const [before, after] = aroundResult(id);
  return Buffer.concat([Buffer.from(before, 'latin1'), result, Buffer.from(after)]);
};

/** The whole JSON-RPC message; a page is copied into one. */
export const bodyOf = (reply: WholeReply | PageReply): Buffer | undefined =>
  reply.kind === 'page' ? responseWith(reply.id, reply.page) : reply.body;

/** Length of the body; undefined where there is none. */
export const bodyLength = (reply: WholeReply | PageReply): number | undefined => {
  if (reply.kind === 'whole') return reply.body?.length;
  const [before, after] = aroundResult(reply.id);
  return before.length + reply.page.length + after.length;
};

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
