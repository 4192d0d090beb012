import { keyOf, type Store, STORE_LIMITS } from '../../store/index.ts';
import { nameOf } from './names.ts';

const keyOfUser = (user: string): string => keyOf('revoked-user', nameOf('revoked user', user));

/**
 * Ends whatever has been granted to the user until now: each replica asks `revokedAtMs` before it uses something that
 * lasts. Kept as long as the store keeps anything.
 */
export const markRevoked = (store: Store, user: string, atMs: number): Promise<void> =>
  store.set(keyOfUser(user), Buffer.from(`${atMs}`), STORE_LIMITS.ttlMs);

/** Whether what was granted to the user at `grantedAtMs` has been ended. */
export const isEnded = async (store: Store, user: string, grantedAtMs: number): Promise<boolean> => {
  const marker = await store.get(keyOfUser(user));
  return marker !== undefined && grantedAtMs <= Number(marker.toString());
};
