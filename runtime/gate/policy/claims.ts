import type { User } from '../../call/index.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** The claims of a user that policies see. Undefined: there are none, and nothing is admitted. */
export type ClaimsOf = (user: User) => Claims | undefined | Promise<Claims | undefined>;

/** The verified claims of a user's access token at an upstream provider; undefined where they cannot be had. */
export type UpstreamClaims = (user: User, provider: string) => Promise<Claims | undefined>;

/** Those of the token that the client has presented, or of one that an upstream provider has issued to the user. */
export const claimsOf = (provider: string | undefined, upstreamClaims: UpstreamClaims | undefined): ClaimsOf => {
  if (provider === undefined) return ({ claims }) => claims;
  return (user) => upstreamClaims?.(user, provider);
};
