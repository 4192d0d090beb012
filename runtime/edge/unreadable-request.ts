import { type IncomingMessage, maxHeaderSize, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DISCARD_IDLE_MS, MAX_DISCARDED_BYTES } from './body.ts';

/** What node:http emits as `clientError`; `reason` has the words of its parser, `rawPacket` the bytes that it read. */
interface ClientError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: unknown;
}

/** What node:http itself looks at where nobody listens for `clientError`. */
interface HttpSocket extends Socket {
  /** The response that is under way. */
  readonly _httpMessage?: ServerResponse | null;
  /** `incoming`: the request whose body is being read. */
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
}

/** Sockets that have got a refusal, and the bytes that had come by then. */
const refused = new WeakMap<Socket, number>();

/**
 * Answers what is no HTTP request, or did not arrive in time, and ends the connection. A request that has come whole
 * must not be answered by this, nor an answer be followed by it that has begun or is given: that connection is cut, as
 * with another request behind one that is under way.
 */
export const refuseUnreadable = (error: ClientError, socket: HttpSocket): void => {
  const before = refused.get(socket);
  // The parser tells it of all that follows, too.
  if (before !== undefined && socket.bytesRead - before < MAX_DISCARDED_BYTES && !isLate(error)) return;
  const underWay = socket._httpMessage ?? undefined;
  const isAnswered = underWay?.headersSent ?? socket.parser?.incoming?.complete === false;
  const isOwed = isAnswered || underWay?.req.complete === true;
  if (before !== undefined || isOwed || !socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  refused.set(socket, socket.bytesRead);
  // What is late may still become a request, which nobody must serve then.
  if (underWay !== undefined || isLate(error)) {
    socket.write(refusalOf(error));
    socket.destroy();
    return;
  }
  // A client that sends everything before it reads would lose the answer by a reset (RFC 9112 §9.6).
  socket.end(refusalOf(error));
  socket.setTimeout(DISCARD_IDLE_MS, () => socket.destroy());
};

const isLate = ({ code }: ClientError): boolean => code === 'ERR_HTTP_REQUEST_TIMEOUT';

const TLS_HANDSHAKE = 0x16;

const refusalOf = ({ code, reason, rawPacket }: ClientError): string => {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusal(408, 'request_timeout', 'the request did not arrive in time');
    case 'HPE_HEADER_OVERFLOW':
      return refusal(431, 'head_too_large', `the headers of the request are larger than ${maxHeaderSize} bytes`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal(413, 'body_too_large', 'the chunk extensions of the request are too large; send none');
    case 'HPE_PAUSED_H2_UPGRADE':
      return refusal(400, 'not_http', 'HTTP/2 is not spoken here; use HTTP/1.1');
    default:
      if (code === 'HPE_INVALID_METHOD' && Buffer.isBuffer(rawPacket) && rawPacket[0] === TLS_HANDSHAKE)
        return refusal(400, 'not_http', 'TLS is not spoken on this port');
      return refusal(400, 'not_http', `this is no HTTP/1.1 request${reason === undefined ? '' : `: ${reason}`}`);
  }
};

/** Plain JSON: whatever it was, nothing of it was read as JSON-RPC. */
const refusal = (status: number, error: string, description: string): string => {
  const body = JSON.stringify({ error, error_description: description });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
};
