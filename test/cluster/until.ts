import { setTimeout as pause } from 'node:timers/promises';

/**
 * Asks until the answer is something, at most for the given time; then throws with the last reason. What takes long to
 * ask is asked less often: what is waited for needs the processor, too.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  { timeoutMs = 60_000, intervalMs = 50 } = {},
): Promise<T> {
  const end = performance.now() + timeoutMs;
  let last: unknown = 'no answer';
  while (performance.now() < end) {
    const askedAt = performance.now();
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    await pause(Math.max(intervalMs, performance.now() - askedAt));
  }
  throw new Error(`waited ${timeoutMs / 1000} s for ${what}`, { cause: last });
}
