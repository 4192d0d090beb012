import { VmcpError } from '../../errors.ts';
import { splice } from '../../json/index.ts';
import type { BackendResponse } from '../../outgoing/index.ts';
import { isSameId, readServerMessage } from '../messages/server-message.ts';
import { unauthenticatedBy } from '../messages/small-messages.ts';

/**
 * The response to the request with this id (JSON text), as the backend wrote it. Throws VmcpError when there is none.
 */
export const answerIn = (backend: string, { status, body }: BackendResponse, id: Buffer): Buffer => {
  const message = readServerMessage(body);
  const isAnswer = message?.kind === 'response' || message?.kind === 'error';
  if (isAnswer && message.id && isSameId(body, message.id, id)) return body;
  // An error may carry no id when the backend could not read ours (JSON-RPC 2.0 §5); the client still needs its own.
  if (message?.kind === 'error' && isNull(body, message.id) && status < 500) return withId(body, message.id, id);
  throw invalidAnswer(backend, status);
};

const isNull = (bytes: Buffer, id: { start: number; end: number } | undefined): boolean =>
  id === undefined || bytes.toString('latin1', id.start, id.end) === 'null';

const withId = (bytes: Buffer, idSpan: { start: number; end: number } | undefined, id: Buffer): Buffer => {
  if (idSpan) return splice(bytes, idSpan, id);
  const brace = bytes.indexOf(0x7b);
  return splice(bytes, { start: brace, end: brace + 1 }, Buffer.concat([Buffer.from('{"id":'), id, Buffer.from(',')]));
};

/** The error for a response that is no MCP response. */
export const invalidAnswer = (backend: string, status: number): VmcpError => {
  if (status === 401 || status === 403) return unauthenticatedBy(backend, status);
  const what = status < 300 ? 'gave an answer that is not MCP' : 'failed';
  const code = status >= 500 ? 'backend_unreachable' : 'backend_unavailable';
  return new VmcpError(code, `backend "${backend}" ${what}`, { detail: `HTTP ${status}` });
};

/** The backend did not know the session and has not executed the call: it may be sent again, on another session. */
export class SessionOverError extends VmcpError {
  constructor(backend: string) {
    super('backend_unavailable', `backend "${backend}" no longer knows the session`);
  }
}
