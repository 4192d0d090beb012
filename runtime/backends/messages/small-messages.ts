import { ForbiddenAddressError } from '../../http/index.ts';
import { VmcpError, type ErrorCode } from '../../errors.ts';
import { type Span, smallMember } from '../../json/index.ts';
import { isSevereEnough } from '../../mcp/index.ts';
import { StreamEndedError } from '../http/connection.ts';
import { ResponseTooLargeError } from '../http/event-reader.ts';

/** `notifications/cancelled` for the request with this id (JSON text). */
export const cancelledNotification = (id: Buffer, reason: string): Buffer =>
  Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'),
    id,
    Buffer.from(`,"reason":${JSON.stringify(reason)}}}`),
  ]);

/** The response with an empty result to the request with this id (JSON text). */
export const emptyResponse = (id: Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":'), id, Buffer.from(',"result":{}}')]);

/** `notifications/resources/updated` as revisions before 2026-07-28 have it. */
export const resourceUpdated = (uri: string): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)}}}`);

/** `ping`; `id` is JSON text. */
export const pingRequest = (id: Buffer): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"method":"ping"}`);

/** `resources/subscribe`; `uri` and `id` are JSON text. */
export const subscribeRequest = (uri: string, id: Buffer): Buffer => aboutResource('resources/subscribe', uri, id);

/** `resources/unsubscribe`; `uri` and `id` are JSON text. */
export const unsubscribeRequest = (uri: string, id: Buffer): Buffer => aboutResource('resources/unsubscribe', uri, id);

const aboutResource = (method: string, uri: string, id: Buffer): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"method":"${method}","params":{"uri":${uri}}}`);

export const setLevelRequest = (id: Buffer, level: string): Buffer =>
  Buffer.from(
    `{"jsonrpc":"2.0","id":${id.toString()},"method":"logging/setLevel","params":{"level":${JSON.stringify(level)}}}`,
  );

/** The VmcpError for a failed exchange. Its message names no address; the cause is kept for logs. */
export const exchangeError = (backend: string, error: unknown): VmcpError => {
  if (error instanceof VmcpError) return error;
  const [code, what] = whatHappened(error);
  return new VmcpError(code, `backend "${backend}" ${what}`, { cause: error, detail: detailOf(error) });
};

const whatHappened = (error: unknown): readonly [ErrorCode, string] => {
  if (error instanceof ForbiddenAddressError)
    return ['backend_unavailable', 'lies at an address that is never contacted'];
  if (error instanceof ResponseTooLargeError) return ['backend_unavailable', 'sent more than an answer may hold'];
  if (error instanceof StreamEndedError) return ['backend_unavailable', 'ended its answer before it was complete'];
  if (CERTIFICATE_REFUSED.has(detailOf(error))) return ['backend_unreachable', 'has a certificate that is not trusted'];
  return ['backend_unreachable', 'cannot be reached'];
};

/** What Node calls the ways in which a certificate is not verified (`X509_V_ERR_…` of OpenSSL). */
const CERTIFICATE_REFUSED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const detailOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
};

/** The error for HTTP 401 or 403. The message names the status, since a server that checks the Host answers 403 too. */
export const unauthenticatedBy = (backend: string, status: number): VmcpError =>
  new VmcpError(
    'backend_unauthenticated',
    `backend "${backend}" answered ${status}: it wants a login, or does not accept this Host`,
    { detail: `HTTP ${status}` },
  );

/** Whether a notification is no log message, or one at least as severe as `wanted`. */
export const isWantedLog = (
  bytes: Buffer,
  { method, params }: { readonly method: string; readonly params: Span | undefined },
  wanted: string | undefined,
): boolean => {
  if (wanted === undefined || method !== 'notifications/message' || !params) return true;
  const level = smallMember(bytes, params.start, 'level');
  return typeof level !== 'string' || isSevereEnough(level, wanted);
};
