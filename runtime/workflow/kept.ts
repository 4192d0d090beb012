import { createHash } from 'node:crypto';
import { type Caller, clientKey } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { QuotaGroup, Store } from '../store/index.ts';

const KEY_BYTES = 32;
/** The key that all replicas share; used keys stay. */
const KEY = 'key';
const KEY_MS = 30 * 24 * 3_600_000;

/** A value of the store holds no more: docs/composite-tools.md "Bounds". */
export const KEPT_BYTES = 1024 * 1024 - 64;

/** Random bytes of an id: 32 characters of base64url. */
export const ID_BYTES = 24;

/** The key that seals what workflows keep, made by the first replica that needs it. Throws what the store throws. */
export const sharedKey =
  (store: Pick<Store, 'get' | 'setIfAbsent' | 'touch'>, entropy: (bytes: number) => Buffer): (() => Promise<Buffer>) =>
  async () => {
    const known = await store.get(KEY);
    if (known?.length === KEY_BYTES) {
      await store.touch(KEY, KEY_MS);
      return known;
    }
    await store.setIfAbsent(KEY, entropy(KEY_BYTES), KEY_MS);
    const made = await store.get(KEY);
    if (made?.length === KEY_BYTES) return made;
    throw new VmcpError('internal', 'internal error', { detail: 'the key of waiting workflows cannot be kept' });
  };

/** What is kept for one client, and for all anonymous ones; one more displaces the one that ends first. */
const MOST_KEPT = { user: 64, anonymous: 128 };

/** What the things that are kept for one client have in common: the hash tag of their keys (`QuotaGroup`). */
const tagOf = (caller: Caller): string =>
  `{${createHash('sha256').update(clientKey(caller)).digest('base64url').slice(0, 22)}}`;

/** `kept`: states that a client goes on with itself. */
export type KeptKind = 'kept' | 'task';

export interface Place {
  readonly key: string;
  readonly group: QuotaGroup;
}

export const placeOf = (kind: KeptKind, caller: Caller, id: string): Place => {
  const tag = tagOf(caller);
  return {
    key: `${kind}:${tag}:${id}`,
    group: {
      name: `${kind === 'task' ? 'tasks' : 'quota'}:${tag}`,
      limit: caller.kind === 'user' ? MOST_KEPT.user : MOST_KEPT.anonymous,
    },
  };
};
