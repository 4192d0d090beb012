/**
 * What can come of the credential for a request to a backend. Of several requests for one call, the last of these words
 * is told.
 */
const OUTCOMES = [
  /** Nothing is asked for or cached here: a secret of the owner, or a token of the user. */
  'sent',
  'cached',
  /** It was asked for at its issuer. */
  'obtained',
  /** The backend has refused one, and has taken another. */
  'renewed',
  /** The backend has refused it, and there is no other, or that one was refused, too. */
  'refused',
  /** There was none: nothing was sent. */
  'unavailable',
] as const;

export type CredentialOutcome = (typeof OUTCOMES)[number];

/** The credential of the requests to a backend that a call has led to. */
export interface UsedCredential {
  /** As the configuration spells it: `token_exchange`. */
  readonly strategy: string;
  readonly outcome: CredentialOutcome;
}

/** The one of both that is told. */
export const weightierOutcome = (a: CredentialOutcome, b: CredentialOutcome): CredentialOutcome =>
  OUTCOMES.indexOf(a) < OUTCOMES.indexOf(b) ? b : a;
