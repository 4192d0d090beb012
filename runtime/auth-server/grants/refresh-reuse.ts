import { type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { nameOf } from './names.ts';
import { type CodeParts, redeemCode } from './redeem-code.ts';
import type { GrantDeps } from './records.ts';
import { type Redemption, redemptions } from './redemption.ts';
import { refreshAnswers, type TokenResponse } from './refresh-answers.ts';
import { handleOfGrant } from './refresh-token-id.ts';
import { type RefreshParts, type RefreshTokenModel, refreshTokenModel } from './refresh-token-model.ts';
import { type RefreshTokens, spentSince } from './refresh-tokens.ts';
import { reuseWindow, type StoreReach } from './reuse-window.ts';
import { commitRefresh } from './commit-refresh.ts';
import { orUnavailable } from './unavailable.ts';

/**
 * Rotation of refresh tokens with a reuse window (docs/decisions.md "Refresh tokens").
 *
 * The library answers each request as if the token had not been used, with all its checks. What counts is the last
 * step, `commitRefresh`: the new refresh token and the answer are kept, then one atomic write in the store spends the
 * old token and names its answer. Whoever comes second, at any replica, sends the answer of the first. A replica that
 * dies before that write has spent nothing; the answer of one that dies after it is known to the others. So there is no
 * lock, and nothing to wait for.
 */
export interface RefreshReuse {
  /** For `Provider.use`. */
  readonly middleware: (ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;
  /** The library's setting of this name. */
  readonly rotateRefreshToken: (ctx: KoaContextWithOIDC) => boolean;
  readonly model: RefreshTokenModel;
  /** The code that this request presents is used up once the request is committed. */
  readonly consumeCode: (id: string) => void;
  /** When this request may be repeated, where that is known. */
  readonly retryAfter: (seconds: number | undefined) => void;
  /** The grant, as read a moment ago for a refresh token that is presented in this request. */
  readonly grantOf: (grantId: string) => Promise<AdapterPayload | undefined>;
}

/**
 * Replaced tokens of a family that are known as such, those of the last minutes. At the bound, which a client in a loop
 * reaches, refreshes get a new access token and the same refresh token for a while.
 */
const MAX_SPENT = 500;

const RETRY_AFTER_SECONDS = 1;

export const refreshReuse = (
  deps: GrantDeps &
    CodeParts & {
      readonly tokens: RefreshTokens;
      readonly refreshReuseWindowMs: number;
      readonly reach: Pick<StoreReach, 'reachedAtMs'>;
    },
): RefreshReuse => {
  const { clock } = deps;
  const window = reuseWindow(deps.refreshReuseWindowMs, deps);
  const all = redemptions();
  const parts = {
    ...deps,
    window,
    redemptions: all,
    answers: refreshAnswers(deps, window.keptMs),
  };
  return {
    middleware: async (ctx, next) => {
      const redemption = all.begin(ctx);
      await next();
      try {
        const response = await responseOf(ctx, redemption, parts);
        if (response) ctx.body = response;
      } catch (error) {
        if (!(error instanceof errors.OIDCProviderError)) throw error;
        ctx.status = error.status;
        ctx.body = { error: error.error, error_description: error.error_description };
      }
      if (ctx.status === 503) ctx.set('Retry-After', `${redemption.retryAfterSeconds ?? RETRY_AFTER_SECONDS}`);
    },
    rotateRefreshToken: (ctx) => {
      const family = all.of(ctx)?.presented?.family;
      return !family || spentSince(family, clock.now() - window.keptMs) < MAX_SPENT;
    },
    model: refreshTokenModel(parts),
    consumeCode: (id) => {
      const redemption = all.current();
      if (!redemption) throw new TypeError('the middleware is missing');
      redemption.code = id;
    },
    retryAfter: (seconds) => {
      const redemption = all.current();
      if (redemption && seconds !== undefined) redemption.retryAfterSeconds = seconds;
    },
    grantOf: async (grantId) => {
      const handle = handleOfGrant(grantId);
      const redemption = all.current();
      const known = redemption?.presented?.family;
      const family = known?.handle === handle ? known : await deps.families.read(handle);
      if (redemption && family) redemption.family = family;
      return family?.grant;
    },
  };
};

/** The response that the client gets: what is issued counts from here on. Undefined: the library's own. */
const responseOf = async (
  ctx: KoaContextWithOIDC,
  redemption: Redemption,
  parts: RefreshParts & CodeParts,
): Promise<TokenResponse | undefined> => {
  if (ctx.status !== 200 || ctx.oidc?.route !== 'token') return undefined;
  const response = ctx.body as TokenResponse;
  const { families } = parts;
  return orUnavailable(async () => {
    const { family } = redemption;
    if (!family) throw new errors.InvalidGrant('grant not found');
    const isEnded = await families.isEnded(family);
    // An access token is dated when it is made: one that is dated after the end of its user's access would last.
    if (isEnded) throw new errors.InvalidGrant('grant not found');
    const own = { atMs: family.now(), response, request: requestDigest(ctx) };
    await redeemCode(redemption, own, parts);
    return commitRefresh(redemption, own, parts);
  });
};

/** What the response depends on beside the refresh token. */
const requestDigest = (ctx: KoaContextWithOIDC): string => {
  const { scope, resource, authorization_details: details } = ctx.oidc.params ?? {};
  return nameOf('request', JSON.stringify([scope ?? '', resource ?? '', details ?? '']));
};
