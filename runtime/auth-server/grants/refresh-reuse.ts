import { type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Families } from './families.ts';
import { nameOf } from './names.ts';
import type { GrantDeps } from './records.ts';
import { type Redemption, redemptions } from './redemption.ts';
import { refreshAnswers, type TokenResponse } from './refresh-answers.ts';
import { handleOfGrant } from './refresh-token-id.ts';
import { type RefreshTokenModel, refreshTokenModel } from './refresh-token-model.ts';
import { refreshTokens, spentSince } from './refresh-tokens.ts';
import { reuseWindow } from './reuse-window.ts';
import { settle } from './settle.ts';
import { orUnavailable } from './unavailable.ts';

/**
 * Rotation of refresh tokens with a reuse window (docs/decisions.md "Refresh tokens").
 *
 * The library answers each request as if the token had not been used, with all its checks. What counts is the last
 * step, `settle`: the new refresh token and the answer are kept, then one atomic write in the store spends the old
 * token and names its answer. Whoever comes second, at any replica, sends the answer of the first. A replica that dies
 * before that write has spent nothing; the answer of one that dies after it is known to the others. So there is no
 * lock, and nothing to wait for.
 */
export interface RefreshReuse {
  /** For `Provider.use`. */
  readonly middleware: (ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;
  /** The library's setting of this name. */
  readonly rotateRefreshToken: (ctx: KoaContextWithOIDC) => boolean;
  readonly model: RefreshTokenModel;
  /** The grant, as read a moment ago for a refresh token that is presented in this request. */
  readonly grantOf: (grantId: string) => Promise<AdapterPayload | undefined>;
  readonly close: () => void;
}

/**
 * Replaced tokens of a family that are known as such, those of the last minutes. At the bound, which a client in a loop
 * reaches, refreshes get a new access token and the same refresh token for a while.
 */
const MAX_SPENT = 500;

const RETRY_AFTER_SECONDS = '1';

export const refreshReuse = (
  deps: GrantDeps & { readonly families: Families; readonly refreshReuseWindowMs: number },
): RefreshReuse => {
  const { families, clock } = deps;
  const window = reuseWindow(deps.refreshReuseWindowMs, deps);
  const tokens = refreshTokens(deps, families);
  const all = redemptions();
  const parts = { clock, families, tokens, window, redemptions: all, answers: refreshAnswers(deps, window.keptMs) };
  const responseOf = async (ctx: KoaContextWithOIDC, redemption: Redemption): Promise<TokenResponse | undefined> => {
    if (ctx.status !== 200 || ctx.oidc?.route !== 'token') return undefined;
    const own = { atMs: clock.now(), response: ctx.body as TokenResponse, request: requestDigest(ctx) };
    return orUnavailable(() => settle(redemption, own, parts));
  };
  return {
    middleware: async (ctx, next) => {
      const redemption = all.begin(ctx);
      await next();
      try {
        const response = await responseOf(ctx, redemption);
        if (response) ctx.body = response;
      } catch (error) {
        if (!(error instanceof errors.OIDCProviderError)) throw error;
        ctx.status = error.status;
        ctx.body = { error: error.error, error_description: error.error_description };
      }
      if (ctx.status === 503) ctx.set('Retry-After', RETRY_AFTER_SECONDS);
    },
    rotateRefreshToken: (ctx) => {
      const family = all.of(ctx)?.presented?.family;
      return !family || spentSince(family, clock.now() - window.keptMs) < MAX_SPENT;
    },
    model: refreshTokenModel(parts),
    grantOf: async (grantId) => {
      const handle = handleOfGrant(grantId);
      const family = all.current()?.presented?.family;
      return (family?.handle === handle ? family : await families.read(handle))?.grant;
    },
    close: window.close,
  };
};

/** What the response depends on beside the refresh token. */
const requestDigest = (ctx: KoaContextWithOIDC): string => {
  const { scope, resource, authorization_details: details } = ctx.oidc.params ?? {};
  return nameOf('request', JSON.stringify([scope ?? '', resource ?? '', details ?? '']));
};
