import { isObject, type Span, memberAt } from '../../json/index.ts';
import { CALL_NOTIFICATIONS } from '../messages/call-stream.ts';
import { isSameId, readServerMessage, type ServerMessage } from '../messages/server-message.ts';

/** A request whose answer comes on the stream of its session. */
export interface AwaitingRequest {
  /** JSON text. */
  readonly id: Buffer;
  readonly isCall: boolean;
  /** JSON text; undefined when the request wants no progress. */
  readonly progressToken: () => Buffer | undefined;
}

/** The receiver of a message of the stream. */
export type Receiver<R> =
  | { readonly kind: 'answered'; readonly request: R }
  | { readonly kind: 'call'; readonly call: R }
  /** The client of the session. */
  | { readonly kind: 'session' }
  /** All calls, and the session. */
  | { readonly kind: 'all' }
  | { readonly kind: 'nobody' };

const SESSION = { kind: 'session' } as const;
const NOBODY = { kind: 'nobody' } as const;

/**
 * The one stream of HTTP+SSE does not say which call a message belongs to. Progress names it by its token; everything
 * else about calls goes to the call under way when there is only one, and to the client of the session when there are
 * more.
 */
export const receiverOf = <R extends AwaitingRequest>(bytes: Buffer, waiting: readonly R[]): Receiver<R> => {
  const message = readServerMessage(bytes);
  const calls = waiting.filter(({ isCall }) => isCall);
  const [only] = calls.length === 1 ? calls : [];
  const call = only && ({ kind: 'call', call: only } as const);
  // A message that cannot be read may be the response.
  if (!message) return call ?? NOBODY;
  if (message.kind === 'response' || message.kind === 'error') return answeredBy(bytes, message, waiting);
  // A ping is about the session: servers send pings at intervals, so they do not refresh idle timeouts
  // (docs/decisions.md "Idle timeout").
  if (message.kind === 'request') return message.method === 'ping' ? SESSION : (call ?? SESSION);
  if (message.method === 'notifications/cancelled') return { kind: 'all' };
  if (message.method === 'notifications/progress') return progressOf(bytes, message, calls);
  return CALL_NOTIFICATIONS.has(message.method) ? (call ?? SESSION) : SESSION;
};

const answeredBy = <R extends AwaitingRequest>(
  bytes: Buffer,
  message: Extract<ServerMessage, { kind: 'response' | 'error' }>,
  waiting: readonly R[],
): Receiver<R> => {
  const { id } = message;
  if (id && bytes.toString('latin1', id.start, id.end) !== 'null') {
    const request = waiting.find((each) => isSameId(bytes, id, each.id));
    return request ? { kind: 'answered', request } : NOBODY;
  }
  // An error may carry no id when the backend could not read ours (JSON-RPC 2.0 §5).
  const [request] = waiting.length === 1 ? waiting : [];
  return request ? { kind: 'answered', request } : NOBODY;
};

const progressOf = <R extends AwaitingRequest>(
  bytes: Buffer,
  { params }: Extract<ServerMessage, { kind: 'notification' }>,
  calls: readonly R[],
): Receiver<R> => {
  const span = memberIn(bytes, params, 'progressToken');
  const found = calls.filter((each) => {
    const token = span && each.progressToken();
    return span && token && isSameId(bytes, span, token);
  });
  // Two clients of one user without sessions (2026-07-28) may have chosen the same token.
  const [call] = found.length === 1 ? found : [];
  return call ? { kind: 'call', call } : SESSION;
};

/** JSON text of `params._meta.progressToken` of a request. */
export const progressTokenIn = (request: Buffer): Buffer | undefined => {
  const message = readServerMessage(request);
  const params = message?.kind === 'request' ? message.params : undefined;
  const token = memberIn(request, memberIn(request, params, '_meta'), 'progressToken');
  return token && request.subarray(token.start, token.end);
};

const memberIn = (bytes: Buffer, object: Span | undefined, name: string): Span | undefined =>
  object && isObject(bytes, object.start) ? memberAt(bytes, object.start, name) : undefined;
