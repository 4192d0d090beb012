import type { User } from '../../call/index.ts';

/** The id of a user as the entity `Client`. */
export type PrincipalId = (user: Pick<User, 'issuer' | 'subject'>) => string;

/**
 * docs/policies.md "Entities": the subject, and for a user of a further issuer the issuer before it. So equal subjects
 * of two issuers are two principals. A subject of the first issuer that looks like the longer form is written in it,
 * too.
 */
export const principalIdAmong = (furtherIssuers: readonly string[]): PrincipalId => {
  const further = new Set(furtherIssuers);
  return ({ issuer, subject }) => (further.has(issuer) || LONG_FORM.test(subject) ? `${issuer} ${subject}` : subject);
};

/** An issuer is a URL, and so has no blanks. */
const LONG_FORM = /^https?:\/\/\S+ /i;
