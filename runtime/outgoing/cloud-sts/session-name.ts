import { createHash } from 'node:crypto';

/** `RoleSessionName` of AssumeRoleWithWebIdentity (AWS STS API Reference). */
const ALLOWED = /^[\w+=,.@-]{2,64}$/;
const NOT_ALLOWED = /[^\w+=,.@-]/g;
const MAX_LENGTH = 64;
const DIGEST_LENGTH = 12;
/** Looks as if it had been made here, with a digest. */
const WITH_DIGEST = /-[0-9a-f]{12}$/i;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The name of the role session for the value of a claim; undefined where it has no usable value. A value that is no
 * session name is changed into one, and gets a digest of itself: trust policies and logs tell users apart by this name,
 * so that `a|b` must not become another user's `a-b`. Nor may a user be called as another one's name with its digest: a
 * value that looks like one gets a digest, too. Only a UUID is taken as it is, and so no name with a digest is a UUID.
 */
export const sessionNameOf = (claim: unknown): string | undefined => {
  const text = typeof claim === 'number' && Number.isSafeInteger(claim) ? String(claim) : claim;
  if (typeof text !== 'string' || text === '') return undefined;
  if (UUID.test(text) || (ALLOWED.test(text) && !WITH_DIGEST.test(text))) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
  const readable = text.replaceAll(NOT_ALLOWED, '-').slice(0, MAX_LENGTH - DIGEST_LENGTH - 1);
  const name = `${readable}-${digest}`;
  return UUID.test(name) ? `${readable}--${digest}` : name;
};
