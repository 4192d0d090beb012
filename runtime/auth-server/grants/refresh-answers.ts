import type { AdapterPayload } from 'oidc-provider';
import { keyOf } from '../../store/index.ts';
import { nameOf } from './names.ts';
import type { GrantDeps } from './records.ts';

/** A token response (RFC 6749 §5.1). */
export type TokenResponse = Readonly<Record<string, unknown>>;

/** What a refresh token was answered with. */
export interface RefreshAnswer {
  /** By the clock of the store. */
  readonly atMs: number;
  readonly response: TokenResponse;
  /** Digest of the parameters that the response depends on. */
  readonly request: string;
  /** What the library knew of the refresh token. */
  readonly payload: AdapterPayload;
}

/** Answers to refresh tokens, which only who presents the token can open. */
export interface RefreshAnswers {
  readonly keep: (token: string, id: string, answer: RefreshAnswer) => Promise<void>;
  readonly find: (token: string, id: string) => Promise<RefreshAnswer | undefined>;
  readonly forget: (token: string, id: string) => Promise<void>;
}

export const refreshAnswers = ({ store, sealer }: GrantDeps, keptMs: number): RefreshAnswers => ({
  keep: async (token, id, answer) =>
    store.set(keyOfAnswer(token, id), await sealer.seal('answer', token, answer), keptMs),
  find: async (token, id) => {
    const sealed = await store.get(keyOfAnswer(token, id));
    return sealed && ((await sealer.open('answer', token, sealed)) as RefreshAnswer | undefined);
  },
  forget: async (token, id) => {
    await store.delete(keyOfAnswer(token, id));
  },
});

const keyOfAnswer = (token: string, id: string): string => keyOf('answer', nameOf(`answer ${id}`, token));

/**
 * The response to a refresh token that was answered before: the same, byte for byte but for `expires_in`; where the
 * client asks for something else, or little is left of that access token's life, a new access token beside the same
 * refresh token.
 */
export const responseAgain = (
  before: RefreshAnswer,
  { response, request, atMs }: Pick<RefreshAnswer, 'response' | 'request' | 'atMs'>,
): TokenResponse => {
  const lifeSeconds = Number(before.response['expires_in']);
  const leftSeconds = lifeSeconds - Math.max(0, Math.ceil((atMs - before.atMs) / 1_000));
  if (request === before.request && leftSeconds > lifeSeconds / 2)
    return { ...before.response, expires_in: leftSeconds };
  return { ...response, refresh_token: before.response['refresh_token'] };
};
