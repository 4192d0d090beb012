import type { Caller } from '../call/index.ts';
import type { VmcpError } from '../errors.ts';
import { clipped } from '../text.ts';
import type { Step } from './explanation.ts';

export interface IdentityDeps {
  readonly now: () => number;
}

/** Who the caller is. Of the claims, only those that name the user and the client. */
export const identified = (caller: Caller, { now }: IdentityDeps): Step => {
  if (caller.kind !== 'user')
    return { step: 'identity', outcome: 'ok', kind: caller.kind, reason: 'every caller is the same anonymous one' };
  const { issuer, subject, claims, expiresAt } = caller;
  const client = claims['client_id'] ?? claims['azp'];
  return {
    step: 'identity',
    outcome: 'ok',
    kind: 'user',
    reason: `the caller is "${clipped(subject)}" of ${clipped(issuer)}`,
    issuer: clipped(issuer),
    subject: clipped(subject),
    ...(typeof client === 'string' && { clientId: clipped(client) }),
    ...(expiresAt !== undefined && { expiresInSeconds: Math.max(0, Math.floor((expiresAt - now()) / 1_000)) }),
  };
};

/** Why nobody is known by that token. */
export const unidentified = ({ code, message, challenge }: VmcpError): Step => ({
  step: 'identity',
  outcome: 'refused',
  code,
  reason: message,
  ...(REMEDIES[code] !== undefined && { remedy: REMEDIES[code] }),
  ...(code === 'insufficient_scope' && challenge?.['scope'] !== undefined && { scopes: challenge['scope'] }),
});

const REMEDIES: Partial<Readonly<Record<VmcpError['code'], string>>> = {
  invalid_token:
    'get a fresh token of an issuer of incomingAuth, for the audience that is configured there; docs/authentication.md',
  insufficient_scope: 'ask the issuer for a token with the scopes that incomingAuth.oidc.scopes lists',
  issuer_unavailable: 'see whether this server can reach the issuer; its log says what has failed',
  overloaded: 'try again in a moment',
};
