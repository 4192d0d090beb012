import { createHmac } from 'node:crypto';
import { type Clock, seal, unseal } from '../../process/index.ts';
import {
  currentKey,
  HEAD_BYTES,
  headOf,
  isSealedWith,
  keyThatSealed,
  type SealingKey,
  sealingKeys,
  type SealingKeysDeps,
} from '../keys/sealing-keys.ts';

/**
 * Encrypts what is kept under an id. The key is made from a secret *and* the id, which is nowhere in the store: neither
 * a dump of the store nor a dump with the secrets opens anything.
 */
export interface Sealer {
  /** JSON, under the current secret. `what` names the purpose; a value is valid for no other. */
  readonly seal: (what: string, id: string, value: object) => Promise<Buffer>;
  /**
   * Undefined: sealed for another purpose or id, changed, or under a secret that is not listed any more. Throws as
   * `keyThatSealed`.
   */
  readonly open: (what: string, id: string, sealed: Buffer) => Promise<Record<string, unknown> | undefined>;
  /** Whether the current secret sealed it. */
  readonly isCurrent: (sealed: Buffer) => Promise<boolean>;
}

export const sealer = ({ clock, ...deps }: SealingKeysDeps & { readonly clock: Pick<Clock, 'now'> }): Sealer => {
  const keys = sealingKeys('grants', deps);
  return {
    seal: async (what, id, value) => {
      const current = currentKey(await keys());
      const head = headOf(current, clock.now());
      return sealWith(valueKeys(current, what, id), head, Buffer.from(JSON.stringify(value)));
    },
    open: async (what, id, sealed) => {
      const key = keyThatSealed(await keys(), sealed, clock.now());
      return key && parsed(openWith(valueKeys(key, what, id), sealed));
    },
    isCurrent: async (sealed) => isSealedWith(currentKey(await keys()), sealed),
  };
};

interface ValueKeys {
  readonly encryption: Buffer;
  readonly nonce: Buffer;
}

const valueKeys = ({ key }: SealingKey, what: string, id: string): ValueKeys => {
  const both = createHmac('sha512', key)
    .update(JSON.stringify([what, id]))
    .digest();
  return { encryption: both.subarray(0, 32), nonce: both.subarray(32) };
};

/**
 * With a nonce made from key and content (as RFC 5297 §1.3.2): it repeats for the same content alone, and no randomness
 * is needed.
 */
const sealWith = (keys: ValueKeys, head: Buffer, content: Buffer): Buffer => {
  const nonce = createHmac('sha256', keys.nonce).update(head).update(content).digest();
  const sealing = { key: keys.encryption, as: head };
  return Buffer.concat([head, seal(content, sealing, (bytes) => nonce.subarray(0, bytes))]);
};

const openWith = ({ encryption }: ValueKeys, sealed: Buffer): Buffer | undefined =>
  unseal(sealed.subarray(HEAD_BYTES), { key: encryption, as: sealed.subarray(0, HEAD_BYTES) });

const parsed = (content: Buffer | undefined): Record<string, unknown> | undefined =>
  content && (JSON.parse(content.toString()) as Record<string, unknown>);
