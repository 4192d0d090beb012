import { createHash } from 'node:crypto';
import { type Call, type Caller, clientKey } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { networkOf } from '../http/index.ts';
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

/** Of one user and client, or of anonymous clients of one part: one more displaces the one that ends first. */
const MOST_KEPT = 64;

/**
 * Anonymous clients are told apart by their addresses alone, and come back from others: so the address is in no key,
 * and says only which part a thing counts for. A client at one address displaces nothing of the other parts.
 */
const ANONYMOUS_PARTS = 8;

/** The part that what is kept for this caller counts for; undefined for users, who are a group each. */
export const partOf = ({ caller, client }: Pick<Call, 'caller' | 'client'>): number | undefined =>
  caller.kind === 'user'
    ? undefined
    : (createHash('sha256').update(networkOf(client.address)).digest()[0] ?? 0) % ANONYMOUS_PARTS;

/** What the things that are kept for one client have in common: the hash tag of their keys (`QuotaGroup`). */
const tagOf = (caller: Caller): string =>
  `{${createHash('sha256').update(clientKey(caller)).digest('base64url').slice(0, 22)}}`;

/** `kept`: states that a client goes on with itself. */
export type KeptKind = 'kept' | 'task';

export const placeOf = (kind: KeptKind, caller: Caller, id: string): string => `${kind}:${tagOf(caller)}:${id}`;

/** `part`: as `partOf` has it. */
export const quotaOf = (kind: KeptKind, caller: Caller, part: number | undefined): QuotaGroup => ({
  name: `${kind === 'task' ? 'tasks' : 'quota'}:${tagOf(caller)}${part === undefined ? '' : `:${part}`}`,
  limit: MOST_KEPT,
});
