import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import type { Processes, Started } from '../processes.ts';

export const AUDIENCE = 'https://bench.example';

/** An identity provider, and its users with their tokens (RS256). */
export interface Issuer {
  readonly url: string;
  readonly jwks: JSONWebKeySet;
  /** Tokens of the users 0, 1, … */
  readonly tokens: (count: number) => Promise<readonly string[]>;
}

const LIFE_SECONDS = 12 * 3_600;
const KID = 'bench';

export const startIssuer = async (processes: Pick<Processes, 'role'>): Promise<Issuer> => {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwks: JSONWebKeySet = { keys: [{ ...(await exportJWK(publicKey)), kid: KID, alg: 'RS256', use: 'sig' }] };
  const { url }: Started = await processes.role('gate/identity-provider.ts', JSON.stringify(jwks));
  const issuedAt = Math.floor(Date.now() / 1_000);
  const tokenOf = (index: number): Promise<string> =>
    new SignJWT({ iss: url, aud: AUDIENCE, iat: issuedAt, exp: issuedAt + LIFE_SECONDS, ...claimsOf(index) })
      .setProtectedHeader({ alg: 'RS256', kid: KID, typ: 'at+jwt' })
      .sign(privateKey);
  return { url, jwks, tokens: (count) => Promise.all(Array.from({ length: count }, (_, index) => tokenOf(index))) };
};

/** What the policies read of a user, and some more; each has a group that no other has. */
export const claimsOf = (index: number): Readonly<Record<string, unknown>> => ({
  sub: `user-${index}`,
  name: `User ${index}`,
  email: `user-${index}@bench.example`,
  client_id: 'desktop',
  scope: 'openid profile tools',
  groups: ['staff', `team-${index}`],
  region: 'eu-west',
  level: index % 10,
  suspended: false,
});
