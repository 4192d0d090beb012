import { networkOf } from '../http/index.ts';
import type { Clock } from '../process/index.ts';
import { localBuckets } from '../store/index.ts';

/** What is counted for each client address; `document`: requests for what clients publish that nobody uses yet. */
export type Budgeted = 'register' | 'authorize' | 'login' | 'token' | 'document';

/** Requests of one address; many users may be behind one, and clients of a cloud service all are. */
const REQUESTS_PER_MINUTE: Readonly<Record<Budgeted, number>> = {
  register: 600,
  authorize: 1_200,
  login: 12_000,
  token: 12_000,
  document: 120,
};

/** Counts a request of this address. Milliseconds to wait; 0: it may be answered. */
export type RequestBudgets = (what: Budgeted, address: string | undefined) => Promise<number>;

/**
 * Budgets of this process, so that they depend on no store: they bound the work that one address can cause, and are no
 * lock against guessing, since nothing that counts can be guessed.
 */
export const requestBudgets = (clock: Clock): RequestBudgets => {
  const buckets = localBuckets(clock);
  return async (what, address) => {
    const size = { capacity: REQUESTS_PER_MINUTE[what], refillPeriodMs: 60_000 };
    const bucket = { key: `${what}:${networkOf(address)}`, overflowKey: what, ...size };
    return (await buckets.takeTokens([bucket])).waitMs;
  };
};
