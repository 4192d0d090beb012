import { type Clock, seal, unseal } from '../../process/index.ts';
import { currentKey, HEAD_BYTES, headOf, keyThatSealed, sealingKeys, type SealingKeysDeps } from './sealing-keys.ts';

/** Seals what is kept elsewhere, with keys of one purpose: the current secret seals, each opens. */
export interface Sealer {
  /** `as`: what the text is. As another thing it does not open. */
  readonly seal: (text: Buffer, as: string) => Promise<Buffer>;
  /** Undefined: it does not open. Throws as `keyThatSealed`. */
  readonly unseal: (sealed: Buffer, as: string) => Promise<Buffer | undefined>;
}

export interface SealerDeps extends SealingKeysDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
}

export const sealerFor = (purpose: string, { clock, entropy, ...deps }: SealerDeps): Sealer => {
  const keys = sealingKeys(purpose, deps);
  const bound = (as: string, head: Buffer): Buffer => Buffer.concat([head, Buffer.from(as)]);
  return {
    seal: async (text, as) => {
      const key = currentKey(await keys());
      const head = headOf(key, clock.now());
      return Buffer.concat([head, seal(text, { key: key.key, as: bound(as, head) }, entropy)]);
    },
    unseal: async (sealed, as) => {
      const key = keyThatSealed(await keys(), sealed, clock.now());
      const head = sealed.subarray(0, HEAD_BYTES);
      return key && unseal(sealed.subarray(HEAD_BYTES), { key: key.key, as: bound(as, head) });
    },
  };
};
