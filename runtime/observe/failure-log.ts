import type { Inbound } from '../call.ts';
import type { ErrorCode, VmcpError } from '../errors.ts';
import type { Log } from './log.ts';

/** Of one text: so many lines in so long, then their number. A backend that is away fails every call. */
const LINES = 10;
const WINDOW_MS = 10_000;
/** A text names a kind of failure and a backend. */
const MAX_TEXTS = 1_000;

/** What a call met behind us, or did not get for lack of room: somebody who operates this should see it. All others are the client's own. */
const DEGRADED: ReadonlySet<ErrorCode> = new Set([
  'backend_unavailable',
  'backend_unreachable',
  'backend_unauthenticated',
  'backend_timeout',
  'credential_unavailable',
  'lists_unavailable',
  'overloaded',
]);

interface Window {
  readonly startedAt: number;
  lines: number;
  unsaid: number;
}

/** Logs why requests were not served, each with the correlation id that its client was told. */
export const failureLog = (log: Pick<Log, 'debug' | 'warn' | 'error'>, now: () => number) => {
  const windows = new Map<string, Window>();
  const windowOf = (text: string): Window => {
    const window = windows.get(text);
    if (window && now() - window.startedAt < WINDOW_MS) return window;
    windows.delete(text);
    const [oldest] = windows.keys();
    if (oldest !== undefined && windows.size >= MAX_TEXTS) windows.delete(oldest);
    // What the last one left unsaid is told by the first line of this one.
    const next: Window = { startedAt: now(), lines: 0, unsaid: window?.unsaid ?? 0 };
    windows.set(text, next);
    return next;
  };
  return (error: VmcpError, request: Pick<Inbound, 'clientAddress' | 'correlationId'>) => {
    const { code, detail, message: reason } = error;
    const fields = { code, detail, correlationId: request.correlationId(), client: request.clientAddress };
    if (code === 'internal') return log.error({ ...fields, err: error.cause }, 'request failed');
    if (!DEGRADED.has(code)) return log.debug({ ...fields, reason }, 'request refused');
    const window = windowOf(reason);
    window.lines += 1;
    if (window.lines > LINES) {
      window.unsaid += 1;
      return log.debug({ ...fields, reason }, 'request failed');
    }
    const { unsaid } = window;
    window.unsaid = 0;
    log.warn({ ...fields, reason, ...(unsaid > 0 && { unsaid }) }, 'request failed');
  };
};
