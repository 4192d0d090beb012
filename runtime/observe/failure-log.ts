import type { Inbound } from '../call/index.ts';
import type { ErrorCode, VmcpError } from '../errors.ts';
import { lineWindows } from './line-windows.ts';
import type { Log } from './log.ts';

/**
 * Failures of backends, issuers and stores, or for lack of room, which operators should see (warn). All others are the
 * client's own (debug).
 */
const DEGRADED: ReadonlySet<ErrorCode> = new Set([
  'backend_unavailable',
  'backend_unreachable',
  'backend_unauthenticated',
  'backend_timeout',
  'circuit_open',
  'credential_unavailable',
  'lists_unavailable',
  'overloaded',
  'issuer_unavailable',
  'store_unavailable',
  'audit_unavailable',
]);

/** Logs why requests were not served, each with the correlation id in its answer. */
export const failureLog = (log: Pick<Log, 'debug' | 'warn' | 'error'>, now: () => number) => {
  const leftOut = lineWindows(now);
  return (error: VmcpError, request: Pick<Inbound, 'clientAddress' | 'correlationId'>) => {
    const { code, detail, message: reason } = error;
    const fields = { code, detail, correlationId: request.correlationId(), client: request.clientAddress };
    if (code === 'internal') return log.error({ ...fields, err: error.cause }, 'request failed');
    if (!DEGRADED.has(code)) return log.debug({ ...fields, reason }, 'request refused');
    const unsaid = leftOut(reason);
    if (unsaid === undefined) return log.debug({ ...fields, reason }, 'request failed');
    log.warn({ ...fields, reason, ...(unsaid > 0 && { unsaid }) }, 'request failed');
  };
};

/** Logs why clients that read too slowly were cut off, each with the correlation id of its request. */
export const cutLog = (log: Pick<Log, 'debug' | 'warn'>, now: () => number) => {
  const leftOut = lineWindows(now);
  return (reason: string, request: Pick<Inbound, 'clientAddress' | 'correlationId'>): void => {
    const unsaid = leftOut(reason);
    const fields = { reason, correlationId: request.correlationId(), client: request.clientAddress };
    if (unsaid === undefined) log.debug(fields, 'client cut off');
    else log.warn({ ...fields, ...(unsaid > 0 && { unsaid }) }, 'client cut off');
  };
};
