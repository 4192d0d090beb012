import { conditionsIn } from '../plan/conditions.ts';

/** Delays between retries of what a user has to correct: short at first, since the user may be correcting it now. */
const pausesMs = [5_000, 10_000, 20_000, 40_000];

/** From then on, and where the status does not say since when it lasts. */
export const slowRetryMs = 60_000;

const problemTypes: readonly string[] = ['ChildConflict', 'ChildRefused'];

/**
 * When to look again at children that could not be made, in case no event tells that they can be now. Since when that
 * lasts is read from the conditions, so that neither a look in between nor a restart begins anew.
 */
export const retryAfterMs = (status: unknown, nowMs: number): number => {
  const since = conditionsIn(status)
    .filter((condition) => problemTypes.includes(condition.type))
    .map((condition) => Date.parse(condition.lastTransitionTime ?? ''));
  const elapsedMs = since.length === 0 ? 0 : nowMs - Math.max(...since);
  // Another operator wrote it whose clock was ahead.
  if (elapsedMs < 0) return slowRetryMs;
  let dueMs = 0;
  for (const pauseMs of pausesMs) {
    dueMs += pauseMs;
    if (dueMs > elapsedMs) {
      return dueMs - elapsedMs;
    }
  }
  return slowRetryMs;
};
