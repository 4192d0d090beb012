import { createHmac } from 'node:crypto';
import { SEAL_BYTES } from '../../process/index.ts';
import { keysUnusable } from './keys-unusable.ts';
import { deriveKey, oncePerSecret, type Secrets } from './secrets.ts';

/** A key for one purpose, and its name, which is written before what it seals and says nothing about it. */
export interface SealingKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

export interface SealingKeysDeps {
  readonly secrets: Secrets;
  /** What else the keys are made from: what is sealed under one text opens under no other. */
  readonly boundTo: () => string;
}

/** A mounted Secret reaches all replicas within this time (Kubernetes: sync period of the kubelet and its cache). */
export const SECRET_SPREAD_MS = 3 * 60_000;

const VERSION = 1;
const KEY_ID_BYTES = 4;
/** Version, key id, seconds since the epoch. */
export const HEAD_BYTES = 1 + KEY_ID_BYTES + 4;

/** The keys of a purpose, the current one first: it seals, each opens. */
export const sealingKeys = (
  purpose: string,
  { secrets, boundTo }: SealingKeysDeps,
): (() => Promise<readonly SealingKey[]>) => {
  const idOf = oncePerSecret((secret) =>
    createHmac('sha256', deriveKey(secret, purpose)).update('key id').digest().subarray(0, KEY_ID_BYTES),
  );
  const keyOf = oncePerSecret((secret) => {
    let made: { readonly bound: string; readonly key: Buffer } | undefined;
    return (bound: string): Buffer => {
      if (made?.bound !== bound) made = { bound, key: deriveKey(secret, JSON.stringify([purpose, bound])) };
      return made.key;
    };
  });
  return async () => (await secrets()).map((secret) => ({ id: idOf(secret), key: keyOf(secret)(boundTo()) }));
};

/** The key that seals. Throws `issuer_unavailable` where there is none. */
export const currentKey = ([current]: readonly SealingKey[]): SealingKey => {
  if (!current) throw keysUnusable('there is no HMAC secret to seal with');
  return current;
};

export const headOf = ({ id }: SealingKey, nowMs: number): Buffer => {
  const head = Buffer.alloc(HEAD_BYTES, VERSION);
  id.copy(head, 1);
  head.writeUInt32BE(Math.floor(nowMs / 1_000) % 2 ** 32, 1 + KEY_ID_BYTES);
  return head;
};

/** When the value was sealed, to the second, by the clock of whichever replica did it. */
export const sealedAtMs = (sealed: Buffer): number =>
  sealed.length < HEAD_BYTES ? 0 : sealed.readUInt32BE(1 + KEY_ID_BYTES) * 1_000;

export const isSealedWith = ({ id }: SealingKey, sealed: Buffer): boolean =>
  id.equals(sealed.subarray(1, 1 + KEY_ID_BYTES));

/**
 * The key that has sealed this. Undefined: it has another form, or the secret is not listed any more. Throws
 * `issuer_unavailable` where it was sealed a short while ago with a secret that has not reached this replica yet.
 */
export const keyThatSealed = (keys: readonly SealingKey[], sealed: Buffer, nowMs: number): SealingKey | undefined => {
  const key = keyNamedBy(keys, sealed, nowMs);
  if (key === 'on its way')
    throw keysUnusable('another replica seals with an HMAC secret that has not reached this one yet');
  return key;
};

/** As `keyThatSealed`, with a word in place of what that throws. */
export const keyNamedBy = (
  keys: readonly SealingKey[],
  sealed: Buffer,
  nowMs: number,
): SealingKey | 'on its way' | undefined => {
  if (sealed.length < HEAD_BYTES + SEAL_BYTES || sealed[0] !== VERSION) return undefined;
  const key = keys.find((each) => isSealedWith(each, sealed));
  return key ?? (Math.abs(nowMs - sealedAtMs(sealed)) < SECRET_SPREAD_MS ? 'on its way' : undefined);
};
