import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Tells what the operator wrote, whichever replica or release of it, from what others did. */
export interface Seal {
  readonly of: (text: string) => string;
  readonly isOf: (seal: string, text: string) => boolean;
}

/** RFC 5869 §3.2: a key of its own, since the same secret signs tokens. */
export const sealKeyOf = (secret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'vmcp-operator: accepted spec', 32));

/** HMAC-SHA-256 under these keys: the first one seals, each is believed. */
export const sealWith = (keys: () => readonly Uint8Array[]): Seal => ({
  of: (text) => {
    const [newest] = keys();
    if (newest === undefined) throw new Error('there is no key to seal with');
    return digest(newest, text).toString('base64url');
  },
  isOf: (seal, text) => {
    const said = Buffer.from(seal, 'base64url');
    return keys().some((key) => {
      const expected = digest(key, text);
      return said.length === expected.length && timingSafeEqual(said, expected);
    });
  },
});

const digest = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();
