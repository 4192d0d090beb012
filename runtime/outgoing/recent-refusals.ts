import type { VmcpError } from '../errors.ts';
import { type Clock, lruCache } from '../process/index.ts';

/** The credentials that were refused a moment ago, and for which no better ones can be had. */
export interface RecentRefusals {
  /** Throws the error that was noted for this key a moment ago. */
  readonly check: (key: string) => void;
  /** Notes the error, and returns it. */
  readonly note: (key: string, error: VmcpError) => VmcpError;
}

/** How long no other credential is asked for: to a backend that refuses fresh ones the next is of no more use. */
const REFUSED_MS = 5_000;

/** Keys are `credentialKey`s: a refusal is about one user, and what a newer token of the user gives starts afresh. */
const MOST = 10_000;

export const recentRefusals = ({ now }: Pick<Clock, 'now'>): RecentRefusals => {
  const known = lruCache<{ readonly error: VmcpError; readonly at: number }>({ count: MOST, bytes: Infinity });
  return {
    check: (key) => {
      const refusal = known.get(key);
      if (!refusal) return;
      if (Math.abs(now() - refusal.at) < REFUSED_MS) throw refusal.error;
      known.delete(key);
    },
    note: (key, error) => {
      known.set(key, { error, at: now() }, 0);
      return error;
    },
  };
};
