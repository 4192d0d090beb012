import type { User } from '../../call/index.ts';
import type { Claims } from './account-claims.ts';
import type { TokenVault } from './vault.ts';

export interface UserPorts {
  /** `User.upstreamToken` of this user. */
  readonly upstreamTokenOf: (user: Pick<User, 'issuer' | 'subject'>) => User['upstreamToken'];
  /** Claims for policies. */
  readonly upstreamClaims: (user: Pick<User, 'issuer' | 'subject'>, provider: string) => Promise<Claims | undefined>;
}

/**
 * What the rest of the runtime has of the vault. Users whose token another issuer has issued have no account, whatever
 * their subject is called.
 */
export const userPorts = (vault: Pick<TokenVault, 'accessToken' | 'claims'>, issuer: string): UserPorts => ({
  upstreamTokenOf:
    ({ issuer: by, subject }) =>
    async (provider, use) =>
      by === issuer ? vault.accessToken({ user: subject, provider }, use) : undefined,
  upstreamClaims: async ({ issuer: by, subject }, provider) =>
    by === issuer ? vault.claims({ user: subject, provider }) : undefined,
});
