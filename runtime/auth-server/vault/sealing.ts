import { seal, SEAL_BYTES, unseal } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import { deriveKey, oncePerSecret, type Secrets } from '../keys/secrets.ts';

export interface SealingDeps {
  readonly secrets: Secrets;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
}

/** What is stored in a form that only holders of a secret can read or make. */
export interface Sealing {
  /** `place`: where the value is stored. It can be opened nowhere else. */
  readonly seal: (value: Buffer, place: readonly string[]) => Promise<Buffer>;
  /** Undefined: it was sealed for another place, under a secret that is not known any more, or was changed. */
  readonly open: (sealed: Buffer, place: readonly string[]) => Promise<Opened | undefined>;
}

export interface Opened {
  readonly value: Buffer;
  /** It was sealed under the secret that is the current one now. */
  readonly isCurrent: boolean;
}

interface Key {
  /** Names the key, and says nothing about it. */
  readonly id: Buffer;
  readonly key: Buffer;
}

/** Of the form; a newer one is unknown, and opens as nothing. */
const VERSION = 1;
const KEY_ID_BYTES = 8;
const HEAD_BYTES = 1 + KEY_ID_BYTES;

const PURPOSE = 'upstream tokens';

/**
 * AES-256-GCM under keys derived from the secrets: the first seals, each of them opens. A sealed value is version, key
 * id, and what `seal` makes.
 */
export const sealing = ({ secrets, entropy }: SealingDeps): Sealing => {
  const keyOf = oncePerSecret(keyIn);
  const keys = async (): Promise<readonly Key[]> => (await secrets()).map(keyOf);
  return {
    seal: async (value, place) => {
      const [current] = await keys();
      if (!current) throw new VmcpError('internal', 'internal error', { detail: 'no HMAC secret to seal with' });
      const sealed = seal(value, { key: current.key, as: boundTo(place, current) }, entropy);
      return Buffer.concat([Buffer.of(VERSION), current.id, sealed]);
    },
    open: async (sealed, place) => {
      if (sealed.length < HEAD_BYTES + SEAL_BYTES || sealed[0] !== VERSION) return undefined;
      const id = sealed.subarray(1, HEAD_BYTES);
      const known = await keys();
      const key = known.find((each) => each.id.equals(id));
      const value = key && unseal(sealed.subarray(HEAD_BYTES), { key: key.key, as: boundTo(place, key) });
      return value && { value, isCurrent: key === known[0] };
    },
  };
};

const boundTo = (place: readonly string[], { id }: Key): Buffer =>
  Buffer.from(JSON.stringify([PURPOSE, VERSION, id.toString('hex'), ...place]));

const keyIn = (secret: Buffer): Key => ({
  id: deriveKey(secret, `${PURPOSE}: key id`).subarray(0, KEY_ID_BYTES),
  key: deriveKey(secret, PURPOSE),
});
