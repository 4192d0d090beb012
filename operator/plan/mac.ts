import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Message authentication codes: they prove that the operator wrote a text, whichever replica or release of it. */
export interface Mac {
  readonly sign: (text: string) => string;
  readonly verify: (mac: string, text: string) => boolean;
}

/** RFC 5869 §3.2: a key of its own, since the same secret signs tokens. */
export const macKeyOf = (secret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'vmcp-operator: accepted spec', 32));

/** HMAC-SHA-256 under these keys: the first key signs, each key verifies. */
export const hmacWith = (keys: () => readonly Uint8Array[]): Mac => ({
  sign: (text) => {
    const [newest] = keys();
    if (newest === undefined) throw new Error('there is no key to seal with');
    return digest(newest, text).toString('base64url');
  },
  verify: (mac, text) => {
    const said = Buffer.from(mac, 'base64url');
    return keys().some((key) => {
      const expected = digest(key, text);
      return said.length === expected.length && timingSafeEqual(said, expected);
    });
  },
});

const digest = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();
