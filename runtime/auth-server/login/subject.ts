import { hash } from 'node:crypto';
import type { Identity } from '../upstreams/index.ts';

/** OpenID Connect Core §2: a subject has at most 255 ASCII characters. */
const MAX_CHARACTERS = 255;
const ASCII = /^[\x21-\x7e]+$/;
const HASHED = 'sha256-';

/**
 * `sub` of the tokens that this server issues: who the user is at the first identity provider. What is too long for a
 * subject, or no visible ASCII, is replaced by its hash, and so is what looks like such a hash: nobody who may choose a
 * name at the provider can choose that of another user.
 */
export const subjectOf = (provider: string, { subject }: Pick<Identity, 'subject'>): string => {
  const written = `${provider}|${subject}`;
  if (written.length <= MAX_CHARACTERS && ASCII.test(subject) && !subject.startsWith(HASHED)) return written;
  return `${provider}|${HASHED}${hash('sha256', subject, 'base64url')}`;
};
