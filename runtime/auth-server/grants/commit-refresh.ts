import { errors } from 'oidc-provider';
import { nameOf } from './names.ts';
import type { Redemption } from './redemption.ts';
import { type RefreshAnswer, responseAgain, type TokenResponse } from './refresh-answers.ts';
import type { RefreshParts } from './refresh-token-model.ts';
import type { NewRefreshToken, Presented } from './refresh-tokens.ts';
import { TemporarilyUnavailable } from './unavailable.ts';

/** What the library has answered in this request. */
export type OwnAnswer = Omit<RefreshAnswer, 'payload'>;

/** The response that the client gets. Undefined: no refresh token was presented, or none was issued for it. */
export const commitRefresh = async (
  { presented, answer, successor }: Redemption,
  own: OwnAnswer,
  parts: RefreshParts,
): Promise<TokenResponse | undefined> => {
  if (answer) return responseAgain(answer, own);
  return presented && successor && spend({ presented, successor, own }, parts);
};

interface Refresh {
  readonly presented: Presented;
  readonly successor: NewRefreshToken;
  readonly own: OwnAnswer;
}

/** The new token and the answer are kept first; then one write, of which the first counts, spends the old token. */
const spend = async (refresh: Refresh, parts: RefreshParts): Promise<TokenResponse> => {
  const { presented, successor, own } = refresh;
  const { tokens, answers, window } = parts;
  const { token, family, payload } = presented;
  const spent = { atMs: own.atMs, answerId: answerIdOf(successor) };
  const [isAdded] = await Promise.all([
    tokens.add(family, successor),
    window.isOpen && payload && answers.keep(token, spent.answerId, { ...own, payload }),
  ]);
  const first = isAdded ? await tokens.spend(presented, spent) : undefined;
  // The grant has ended in between.
  if (!first) throw new TemporarilyUnavailable();
  if (first.answerId !== spent.answerId) return comeSecond(refresh, first.answerId, parts);
  // What cannot be removed now is removed by a later refresh.
  await Promise.allSettled([tokens.remove(family, token), tokens.tidy(family, own.atMs - window.keptMs)]);
  return own.response;
};

/** Another request with the same token was committed first, maybe at another replica. */
const comeSecond = async (
  { presented: { token, family }, successor, own }: Refresh,
  firstAnswerId: string,
  { families, tokens, answers, window }: RefreshParts,
): Promise<TokenResponse> => {
  const answer = await answers.find(token, firstAnswerId);
  await Promise.all([tokens.remove(family, successor.token), answers.forget(token, answerIdOf(successor))]);
  if (answer) return responseAgain(answer, own);
  if (window.isOpen) throw new TemporarilyUnavailable();
  await families.revoke(family.handle);
  throw new errors.InvalidGrant('refresh token already used');
};

const answerIdOf = ({ token }: NewRefreshToken): string => nameOf('answer', token).slice(0, 22);
