import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Seal } from '../plan/seal.ts';

/** HMAC-SHA-256 under keys derived from these secrets: the first one seals, each is believed. */
export const sealWith = (secrets: () => readonly string[]): Seal => ({
  of: (text) => {
    const [newest] = secrets();
    if (newest === undefined) throw new Error('there is no key to seal with');
    return digest(newest, text).toString('base64url');
  },
  isOf: (seal, text) => {
    const said = Buffer.from(seal, 'base64url');
    return secrets().some((secret) => {
      const expected = digest(secret, text);
      return said.length === expected.length && timingSafeEqual(said, expected);
    });
  },
});

/** RFC 5869 §3.2: a key of its own, since the same secret signs tokens. */
const digest = (secret: string, text: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', secret, '', 'vmcp-operator: accepted spec', 32)))
    .update(text)
    .digest();
