import { decodeJwt } from 'jose';
import {
  type Caller,
  RELAYED_AUTHORIZATION,
  type RequestHead,
  UNVERIFIED_ISSUER,
  type User,
} from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { authenticateAnonymous } from './anonymous.ts';
import { isToken, presentedCredential } from './bearer-token.ts';
import { tokenKey } from './token-cache.ts';
import type { Claims } from './verdict.ts';

/**
 * Incoming auth `anonymous` that relays credentials: everybody may connect, and the token that another runtime has sent
 * along is what the outgoing strategy proves the caller with. It is verified by who gets it. Until then nothing that it
 * says is believed: each token is a caller of its own, so that one that was made up shares neither session, nor list,
 * nor credential with the user whom it names. The caller's own `Authorization` is looked at as little as ever.
 */
export const authenticateRelayed = (head: RequestHead): Caller => {
  const { [RELAYED_AUTHORIZATION]: authorization } = head.headers;
  const token = typeof authorization === 'string' ? presentedCredential({ authorization }) : undefined;
  if (token === undefined) return authenticateAnonymous(head);
  if (!isToken(token)) throw new VmcpError('invalid_token', `the ${RELAYED_AUTHORIZATION} header holds no token`);
  return callerOf(token);
};

/** After a change of settings: nothing was verified before either. */
export const knownRelayed = (caller: Caller): Caller | undefined =>
  caller.kind === 'anonymous' || (caller.kind === 'user' && caller.issuer === UNVERIFIED_ISSUER) ? caller : undefined;

const callerOf = (token: string): User => {
  const claims = claimsOf(token);
  const subject = tokenKey(token);
  const { exp } = claims;
  return {
    kind: 'user',
    issuer: UNVERIFIED_ISSUER,
    subject,
    claims: { iss: UNVERIFIED_ISSUER, sub: subject, ...claims },
    token,
    expiresAt: typeof exp === 'number' ? exp * 1_000 : undefined,
    upstreamToken: async () => undefined,
  };
};

/** None of an opaque token. */
const claimsOf = (token: string): Claims => {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
};
