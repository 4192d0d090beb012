import { type Caller, clientKey } from '../../call/index.ts';
import { lruCache } from '../../process/index.ts';

/** Tells the first request with a token from those that follow. */
export interface Logins {
  /** Whether the caller's token is new here; it is not any more after that. */
  readonly isNew: (caller: Caller) => boolean;
}

/** Tokens that are remembered; the event of a forgotten one comes once more. */
const MAX_TOKENS = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Remembers users by issuer, subject, client and end of the token: tokens themselves are not kept. */
export const logins = (): Logins => {
  const known = lruCache<true>({ count: MAX_TOKENS, bytes: MAX_BYTES });
  // A verified token that is cached is the same caller again.
  const seen = new WeakSet<Caller>();
  return {
    isNew: (caller) => {
      if (caller.kind !== 'user' || seen.has(caller)) return false;
      seen.add(caller);
      const key = `${caller.expiresAt}${clientKey(caller)}`;
      if (known.get(key)) return false;
      known.set(key, true, key.length * 2);
      return true;
    },
  };
};
