import { createCipheriv, createDecipheriv } from 'node:crypto';

/** AES-256-GCM (NIST SP 800-38D): 96 bits of nonce, 128 of tag. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What is sealed opens with the same key only, and as the same thing only. */
export interface Sealing {
  readonly key: Buffer;
  /** What the text is, so that it does not open as anything else. */
  readonly as: Buffer;
}

/** Bytes that are added to a text. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/**
 * Nonce, sealed text and tag. `entropy` draws a nonce for this text alone: random ones are good for 2³² texts of one
 * key (NIST SP 800-38D §8.3).
 */
export const seal = (text: Buffer, { key, as }: Sealing, entropy: (bytes: number) => Buffer): Buffer => {
  const nonce = entropy(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(as);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
};

/** Undefined: it was not sealed with this key, or as something else. */
export const unseal = (sealed: Buffer, { key, as }: Sealing): Buffer | undefined => {
  if (sealed.length < SEAL_BYTES) return undefined;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(as).setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
};
