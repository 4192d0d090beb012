import { type AdapterFactory, Provider } from 'oidc-provider';
import type { Clock } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import type { Secrets } from '../keys/secrets.ts';
import { type FindClient, grantAdapter } from './adapter.ts';
import { type Families, families } from './families.ts';
import { records } from './records.ts';
import { type RefreshReuse, refreshReuse } from './refresh-reuse.ts';
import { prefixRefreshTokens } from './refresh-token-id.ts';
import { refreshTokens } from './refresh-tokens.ts';
import type { StoreReach } from './reuse-window.ts';
import { sealer } from './sealed.ts';

export interface GrantsDeps {
  readonly store: Store;
  readonly secrets: Secrets;
  /** What is kept under one text is nothing under another. */
  readonly boundTo: () => string;
  readonly clock: Clock;
  readonly findClient: FindClient;
  /** Time in which a refresh token gets the same successor again. 0: none. */
  readonly refreshReuseWindowMs: number;
  readonly reach: Pick<StoreReach, 'reachedAtMs'>;
  /** Called when a grant ends before its time, with all its refresh tokens. */
  readonly onEnded?: (grant: EndedGrant) => void;
}

export interface EndedGrant {
  readonly user: string | undefined;
  readonly clientId: string | undefined;
  /** `reuse`: a code or a refresh token came back that was used already. */
  readonly reason: 'revocation' | 'reuse';
}

/** What the authorization server keeps, and how. */
export interface Grants {
  /** The settings `adapter` and `rotateRefreshToken` of the provider. */
  readonly adapter: AdapterFactory;
  readonly rotateRefreshToken: RefreshReuse['rotateRefreshToken'];
  /** The authorization request of this interaction waits for a user who has signed in: no stranger displaces it. */
  readonly keepFor: (user: string, interaction: string) => Promise<void>;
  /** To be called once with the provider that has these settings. */
  readonly attach: (provider: Provider) => void;
}

export const openGrants = ({ findClient, secrets, boundTo, onEnded = () => {}, ...deps }: GrantsDeps): Grants => {
  const parts = { ...deps, sealer: sealer({ secrets, boundTo, clock: deps.clock }) };
  const all = tellingOfEnds(families(parts), onEnded);
  const kept = records(parts);
  const tokens = refreshTokens(parts, all);
  const reuse = refreshReuse({ ...parts, families: all, records: kept, tokens });
  return {
    adapter: grantAdapter({ store: deps.store, families: all, tokens, reuse, records: kept, findClient }),
    keepFor: (user, interaction) => kept.keepFor(user, 'Interaction', interaction),
    rotateRefreshToken: reuse.rotateRefreshToken,
    attach: (provider) => {
      prefixRefreshTokens(provider);
      provider.use(reuse.middleware as Parameters<Provider['use']>[0]);
    },
  };
};

/** The library revokes a grant once for each kind of what came of it: it is told once in a request. */
const tellingOfEnds = (all: Families, onEnded: (grant: EndedGrant) => void): Families => {
  const told = new WeakMap<object, string>();
  return {
    ...all,
    revoke: async (handle) => {
      const request = Provider.ctx;
      const isTold = request !== undefined && told.get(request) === handle;
      if (request) told.set(request, handle);
      const family = isTold ? undefined : await all.read(handle);
      await all.revoke(handle);
      if (!family) return;
      const { accountId: user, clientId } = family.grant;
      onEnded({ user, clientId, reason: request?.oidc?.route === 'revocation' ? 'revocation' : 'reuse' });
    },
  };
};
