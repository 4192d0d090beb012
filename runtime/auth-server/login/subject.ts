import { hash } from 'node:crypto';
import type { Identity } from '../upstreams/index.ts';

/** OpenID Connect Core §2: a subject has at most 255 ASCII characters. */
const MAX_CHARACTERS = 255;
const ASCII = /^[\x21-\x7e]+$/;

/**
 * `sub` of the tokens that this server issues: who the user is at the first identity provider. What is too long for a
 * subject, or no visible ASCII, is replaced by its hash.
 */
export const subjectOf = (provider: string, { subject }: Pick<Identity, 'subject'>): string => {
  const written = `${provider}|${subject}`;
  if (written.length <= MAX_CHARACTERS && ASCII.test(subject)) return written;
  return `${provider}|sha256-${hash('sha256', subject, 'base64url')}`;
};
