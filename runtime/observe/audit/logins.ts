import { hash } from 'node:crypto';
import { type Caller, clientKey } from '../../call/index.ts';
import { lruCache } from '../../process/index.ts';

/** Tells the first request with a token from those that follow. */
export interface Logins {
  /** Whether the caller's token is new here; it is not any more after that. */
  readonly isNew: (caller: Caller) => boolean;
}

/** Tokens that are remembered; the event of a forgotten one comes once more. */
const MAX_TOKENS = 10_000;
const KEY_BYTES = 128;

/**
 * Remembers digests of tokens: tokens themselves are not kept. When a token ends does not tell it from another one of
 * the same user, since two may end in the same second, and opaque ones may not say.
 */
export const logins = (): Logins => {
  const known = lruCache<true>({ count: MAX_TOKENS, bytes: MAX_TOKENS * KEY_BYTES });
  // A verified token that is cached is the same caller again.
  const seen = new WeakSet<Caller>();
  return {
    isNew: (caller) => {
      if (caller.kind !== 'user' || seen.has(caller)) return false;
      seen.add(caller);
      const key = hash('sha256', `${caller.token} ${clientKey(caller)}`, 'base64url');
      if (known.get(key)) return false;
      known.set(key, true, KEY_BYTES);
      return true;
    },
  };
};
