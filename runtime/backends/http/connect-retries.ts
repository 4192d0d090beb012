import type { buildConnector } from 'undici';
import { systemClock } from '../../process/index.ts';

/** Pauses before the second and the third attempt; in real time, as undici measures the time-out of an attempt. */
const PAUSES_MS = [50, 200] as const;

/**
 * What Node calls the failures that the next attempt may not meet: a Pod that has just started or is about to end, a
 * Service between two sets of endpoints, a name server that restarts. A certificate that is refused and a time-out are
 * none of them: the one stays, and the other has used up the time of the call.
 */
const MAY_PASS: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
]);

/**
 * Makes connections with up to three attempts (Envoy: `retry_on: connect-failure`). Requests wait meanwhile; nothing of
 * them has been sent, so that nothing is executed twice. A request that is given up while it waits is not sent.
 */
export const withConnectRetries =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) => {
    const pauses = PAUSES_MS.values();
    const attempt = (): void =>
      connect(options, (...outcome) => {
        const [error] = outcome;
        const pauseMs = error && 'code' in error && MAY_PASS.has(error.code) ? pauses.next().value : undefined;
        if (pauseMs === undefined) return callback(...outcome);
        systemClock.after(pauseMs, attempt);
      });
    attempt();
  };
