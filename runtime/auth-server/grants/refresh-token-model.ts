import { type AdapterPayload, errors } from 'oidc-provider';
import type { Clock } from '../../process/index.ts';
import type { Families } from './families.ts';
import type { Redemptions } from './redemption.ts';
import type { RefreshAnswers } from './refresh-answers.ts';
import { handleOfGrant, handleOfToken } from './refresh-token-id.ts';
import { type RefreshTokens, replacedPayload } from './refresh-tokens.ts';
import type { ReuseWindow } from './reuse-window.ts';
import { TemporarilyUnavailable } from './unavailable.ts';

/** The adapter's functions for the model RefreshToken. */
export interface RefreshTokenModel {
  readonly find: (token: string) => Promise<AdapterPayload | undefined>;
  readonly save: (token: string, payload: AdapterPayload, seconds?: number) => Promise<void>;
  readonly consume: (token: string) => void;
  readonly remove: (token: string) => Promise<void>;
}

export interface RefreshParts {
  readonly clock: Clock;
  readonly families: Families;
  readonly tokens: RefreshTokens;
  readonly answers: RefreshAnswers;
  readonly window: ReuseWindow;
  readonly redemptions: Redemptions;
}

/** A replaced token is shown to the library for this time, which is enough for one request. */
const SHOWN_SECONDS = 60;

/**
 * Within a request that presents a refresh token nothing is written: the token is spent, and its successor kept, when
 * the request is committed (`commitRefresh`).
 */
export const refreshTokenModel = (parts: RefreshParts): RefreshTokenModel => {
  const { families, tokens, redemptions } = parts;
  return {
    find: (token) => find(token, parts),
    save: async (token, payload, seconds) => {
      const handle = handleOfToken(token);
      if (handle === undefined || handle !== handleOfGrant(payload.grantId ?? ''))
        throw new TypeError('ids of refresh tokens begin with the handle of their grant: see prefixRefreshTokens');
      const redemption = redemptions.current();
      if (redemption?.presented?.family.handle === handle) {
        redemption.successor = { token, payload, seconds, isSuccessor: true };
        return;
      }
      const family = await families.read(handle);
      const isAdded = family && (await tokens.add(family, { token, payload, seconds, isSuccessor: false }));
      if (!isAdded) throw new errors.InvalidGrant('grant not found');
    },
    consume: (token) => {
      if (redemptions.current()?.presented?.token !== token) throw new TypeError('the middleware is missing');
    },
    remove: async (token) => {
      const presented = redemptions.current()?.presented ?? (await tokens.present(token));
      if (presented) await tokens.remove(presented.family, token);
    },
  };
};

/**
 * Within the window a replaced token is shown as one that was not; later as one that was consumed, and then the library
 * ends its family.
 */
const find = async (
  token: string,
  { clock, tokens, answers, window, redemptions }: RefreshParts,
): Promise<AdapterPayload | undefined> => {
  const presented = await tokens.present(token);
  if (!presented) return undefined;
  const redemption = redemptions.current();
  if (redemption) redemption.presented = presented;
  const { payload, spent } = presented;
  if (payload) return payload;
  const nowSeconds = Math.floor(clock.now() / 1_000);
  const exp = nowSeconds + SHOWN_SECONDS;
  const isAnswered = spent && window.contains(spent.atMs, presented.family.now());
  const answer = isAnswered ? await answers.find(token, spent.answerId) : undefined;
  // The store has lost it: who asks again in time is no thief, and the client goes on with the successor it may have.
  if (isAnswered && !answer) throw new TemporarilyUnavailable();
  if (!redemption || !answer) return { ...replacedPayload(presented), iat: nowSeconds, exp, consumed: nowSeconds };
  redemption.answer = answer;
  return { ...answer.payload, exp };
};
