import { type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { RefreshAnswer } from './refresh-answers.ts';
import type { Family } from './families.ts';
import type { NewRefreshToken, Presented } from './refresh-tokens.ts';

/** One request in which a client may present a code or a refresh token, as far as it has come. */
export interface Redemption {
  presented?: Presented;
  /** The grant that the request is about, as it was read. */
  family?: Family;
  /** Id of the code that the request redeems. */
  code?: string;
  /** The token was answered before, within the reuse window. */
  answer?: RefreshAnswer;
  /** Issued in this request, and not kept yet. */
  successor?: NewRefreshToken;
  /** Where the client cannot be had at the moment: when to ask again. */
  retryAfterSeconds?: number;
}

export interface Redemptions {
  readonly begin: (ctx: KoaContextWithOIDC) => Redemption;
  readonly of: (ctx: KoaContextWithOIDC) => Redemption | undefined;
  /** That of the request in which the library calls: an adapter is not passed it, and finds it in `Provider.ctx`. */
  readonly current: () => Redemption | undefined;
}

export const redemptions = (): Redemptions => {
  const all = new WeakMap<KoaContextWithOIDC, Redemption>();
  return {
    begin: (ctx) => {
      const redemption: Redemption = {};
      all.set(ctx, redemption);
      return redemption;
    },
    of: (ctx) => all.get(ctx),
    current: () => Provider.ctx && all.get(Provider.ctx),
  };
};
