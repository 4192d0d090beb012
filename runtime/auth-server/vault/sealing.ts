import { type Clock, seal, unseal } from '../../process/index.ts';
import {
  currentKey,
  HEAD_BYTES,
  headOf,
  keyThatSealed,
  sealingKeys,
  type SealingKeysDeps,
} from '../keys/sealing-keys.ts';

export interface SealingDeps extends SealingKeysDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
}

/** What is stored in a form that only holders of a secret can read or make. */
export interface Sealing {
  /** `place`: where the value is stored. It can be opened nowhere else. */
  readonly seal: (value: Buffer, place: readonly string[]) => Promise<Buffer>;
  /**
   * Undefined: it was sealed for another place, under a secret that is not known any more, or was changed. Throws as
   * `keyThatSealed`.
   */
  readonly open: (sealed: Buffer, place: readonly string[]) => Promise<Opened | undefined>;
}

export interface Opened {
  readonly value: Buffer;
  /** It was sealed under the secret that is the current one now. */
  readonly isCurrent: boolean;
}

const PURPOSE = 'upstream tokens';

/**
 * AES-256-GCM under keys derived from the secrets: the first seals, each of them opens. A sealed value is the head that
 * names its key, and what `seal` makes.
 */
export const sealing = ({ clock, entropy, ...deps }: SealingDeps): Sealing => {
  const keys = sealingKeys(PURPOSE, deps);
  return {
    seal: async (value, place) => {
      const key = currentKey(await keys());
      const head = headOf(key, clock.now());
      return Buffer.concat([head, seal(value, { key: key.key, as: boundTo(place, head) }, entropy)]);
    },
    open: async (sealed, place) => {
      const known = await keys();
      const key = keyThatSealed(known, sealed, clock.now());
      const as = boundTo(place, sealed.subarray(0, HEAD_BYTES));
      const value = key && unseal(sealed.subarray(HEAD_BYTES), { key: key.key, as });
      return value && { value, isCurrent: key === known[0] };
    },
  };
};

const boundTo = (place: readonly string[], head: Buffer): Buffer =>
  Buffer.from(JSON.stringify([PURPOSE, head.toString('hex'), ...place]));
