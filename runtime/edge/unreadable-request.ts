import { maxHeaderSize, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What node:http emits as `clientError`; `reason` has the words of its parser. */
interface ClientError extends Error {
  readonly code?: string;
  readonly reason?: string;
}

/**
 * Answers what is no HTTP request, or did not arrive in time, and ends the connection: what follows on it cannot be
 * read either (RFC 9112 §9.6). `last` is the last response on the connection; into one that has begun nothing is
 * written.
 */
export const refuseUnreadable = (error: ClientError, socket: Duplex, last: ServerResponse | undefined): void => {
  const isAnswering = last !== undefined && last.headersSent && !last.writableFinished;
  if (error.code !== 'ECONNRESET' && socket.writable && !isAnswering) socket.write(refusalOf(error));
  socket.destroy(error);
};

const refusalOf = ({ code, reason }: ClientError): string => {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusal(408, 'request_timeout', 'the request did not arrive in time; send it again, in one piece');
    case 'HPE_HEADER_OVERFLOW':
      return refusal(431, 'head_too_large', `the head of the request is larger than ${maxHeaderSize} bytes`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal(413, 'body_too_large', 'the chunk extensions of the request are too large; send none');
    default:
      return refusal(400, 'not_http', `this is no HTTP/1.1 request${reason === undefined ? '' : `: ${reason}`}`);
  }
};

/** Plain JSON, as are all answers that are none to a JSON-RPC request. */
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
