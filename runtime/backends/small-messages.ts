import { ForbiddenAddressError } from '../addresses.ts';
import { VmcpError } from '../errors.ts';
import { StreamEndedError } from './connection.ts';
import { ResponseTooLargeError } from './response-too-large.ts';

/** `notifications/cancelled` for the request with this id (JSON text). */
export const cancelledNotification = (id: Buffer, reason: string): Buffer =>
  Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'),
    id,
    Buffer.from(`,"reason":${JSON.stringify(reason)}}}`),
  ]);

/** A failure of the exchange in words that name no address; the cause is kept for logs. */
export const refusalOf = (backend: string, error: unknown): VmcpError => {
  if (error instanceof VmcpError) return error;
  return new VmcpError('backend_unavailable', `backend "${backend}" ${whatHappened(error)}`, {
    cause: error,
    detail: detailOf(error),
  });
};

const whatHappened = (error: unknown): string => {
  if (error instanceof ForbiddenAddressError) return 'lies at an address that is never contacted';
  if (error instanceof ResponseTooLargeError) return 'sent more than an answer may hold';
  if (error instanceof StreamEndedError) return 'ended its answer before it was complete';
  return 'cannot be reached';
};

const detailOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
};
