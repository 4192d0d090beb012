import type { buildConnector } from 'undici';
import { steadyClock, systemClock } from '../../process/index.ts';

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

/** No further attempt is made once this has passed: failures that come slowly would use up the time of the call. */
const LONGEST_MS = 500;

/**
 * Makes connections with up to three attempts (Envoy: `retry_on: connect-failure`), while `isWanted`. Requests wait
 * meanwhile; nothing of them has been sent, so that nothing is executed twice. A request that is given up meanwhile is
 * not sent.
 */
export const withConnectRetries =
  (connect: buildConnector.connector, isWanted: () => boolean): buildConnector.connector =>
  (options, callback) => {
    const pauses = PAUSES_MS.values();
    const startedAt = steadyClock.now();
    const attempt = (): void =>
      connect(options, (...outcome) => {
        const [error] = outcome;
        const mayPass = error !== null && 'code' in error && MAY_PASS.has(error.code);
        const isInTime = steadyClock.now() - startedAt < LONGEST_MS;
        const pauseMs = mayPass && isInTime && isWanted() ? pauses.next().value : undefined;
        if (pauseMs === undefined) return callback(...outcome);
        systemClock.after(pauseMs, () => (isWanted() ? attempt() : callback(...outcome)));
      });
    attempt();
  };
