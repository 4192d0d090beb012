import {
  checkEncoding,
  isObject,
  readString,
  skipSpace,
  skipValue,
  smallMember,
  walkObject,
  type Span,
  isText,
  internedKey,
} from '../../json/index.ts';

/** What one JSON-RPC message from a backend is. Spans are into the message's bytes. */
export type ServerMessage =
  | { readonly kind: 'response'; readonly id: Span; readonly result: Span }
  | { readonly kind: 'error'; readonly id: Span | undefined; readonly error: Span }
  | { readonly kind: 'request'; readonly id: Span; readonly method: string; readonly params: Span | undefined }
  | { readonly kind: 'notification'; readonly method: string; readonly params: Span | undefined };

interface Members {
  id?: Span;
  method?: Span;
  params?: Span;
  result?: Span;
  error?: Span;
}

/**
 * Undefined when the bytes are not one JSON-RPC 2.0 message. Reads the envelope and checks the rest to be JSON; makes
 * no values.
 */
export const readServerMessage = (bytes: Buffer): ServerMessage | undefined => {
  try {
    return classify(bytes, readMembers(bytes));
  } catch {
    return undefined;
  }
};

const readMembers = (bytes: Buffer): Members => {
  checkEncoding(bytes);
  const members: Members = {};
  const end = walkObject(bytes, skipSpace(bytes, 0), (keyAt, keyEnd, start) => {
    const valueEnd = skipValue(bytes, start);
    const key = internedKey(bytes, keyAt, keyEnd) ?? escapedMember(bytes, keyAt);
    if (key !== undefined) noteMember(members, key, { start, end: valueEnd });
    return valueEnd;
  });
  if (skipSpace(bytes, end) !== bytes.length) throw new SyntaxError('more than one value');
  return members;
};

/**
 * One of the members, should it be written with escapes; undefined for all others. Allocates no string, since the
 * sender decides how many members a message has.
 */
const escapedMember = (bytes: Buffer, keyAt: number): string | undefined =>
  MEMBERS.find((name) => isText(bytes, keyAt, name));

const MEMBERS = ['id', 'method', 'params', 'result', 'error'] as const;

/** Where a member is given twice, the last one counts. */
const noteMember = (members: Members, key: string, span: Span): void => {
  if (key === 'id') members.id = span;
  else if (key === 'method') members.method = span;
  else if (key === 'params') members.params = span;
  else if (key === 'result') members.result = span;
  else if (key === 'error') members.error = span;
};

const classify = (bytes: Buffer, { id, method, params, result, error }: Members): ServerMessage | undefined => {
  if (method) {
    const name = readString(bytes, method);
    return id ? { kind: 'request', id, method: name, params } : { kind: 'notification', method: name, params };
  }
  if (result && id && !error) return isObject(bytes, result.start) ? { kind: 'response', id, result } : undefined;
  return error && isObject(bytes, error.start) ? { kind: 'error', id, error } : undefined;
};

/** Longest id that is accepted, in bytes of JSON text. */
export const MAX_ID_BYTES = 256;

/** Whether `span` holds the very id we sent, perhaps spelt differently (`1` and `1.0`, escapes). */
export const isSameId = (bytes: Buffer, span: Span, id: Buffer): boolean => {
  if (isSpeltAlike(bytes, span, id)) return true;
  // Each byte of our id may be spelt as an escape of six bytes at most.
  if (span.end - span.start > 6 * MAX_ID_BYTES) return false;
  return JSON.parse(bytes.toString('utf8', span.start, span.end)) === JSON.parse(id.toString());
};

const isSpeltAlike = (bytes: Buffer, { start, end }: Span, id: Buffer): boolean => {
  if (end - start !== id.length) return false;
  for (let i = 0; i < id.length; i += 1) if (bytes[start + i] !== id[i]) return false;
  return true;
};

/** Whether the bytes are the response, or the error, to the request with this id (JSON text). */
export const isAnswerTo = (bytes: Buffer, id: Buffer): boolean => {
  const message = readServerMessage(bytes);
  const isAnswer = message?.kind === 'response' || message?.kind === 'error';
  return isAnswer && message.id !== undefined && isSameId(bytes, message.id, id);
};

/** The URI in `notifications/resources/updated`, null where none can be read; undefined for other messages. */
export const updatedUri = (notification: Buffer): unknown => {
  const message = readServerMessage(notification);
  if (message?.kind !== 'notification' || message.method !== 'notifications/resources/updated') return undefined;
  const { params } = message;
  return (params && smallMember(notification, params.start, 'uri')) ?? null;
};
