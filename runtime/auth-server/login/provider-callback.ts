import type { RecordStep, RequestSource, Step } from '../record/steps.ts';
import { type Identity, type Upstream, UpstreamError, type UpstreamLogin } from '../upstreams/index.ts';
import { type SentRequest, type Login, LoginGone, OtherUser } from './logins.ts';
import { subjectOf } from './subject.ts';

/** A user's account at an identity provider. */
export interface Account {
  /** `sub` of the tokens that this server issues. */
  readonly user: string;
  readonly provider: string;
}

/** A browser that comes back from an identity provider, for the first time. */
export interface ProviderCallback {
  readonly login: Login;
  readonly upstream: Upstream;
  readonly sent: SentRequest;
  /** The query by which the provider has answered. */
  readonly answer: URLSearchParams;
  readonly request: RequestSource;
}

export interface SignInDeps {
  /** Whether the access of this user was ended since the login has begun. */
  readonly mayNotSignIn: (user: string, begunAtMs: number) => Promise<boolean>;
  /** The same, as the store has it now. Throws as the store does. */
  readonly isEnded: (user: string, begunAtMs: number) => Promise<boolean>;
  /** Forgets the account, and ends its tokens at the provider. */
  readonly forget: (account: Account) => Promise<void>;
  /** `origin`: of the provider that has issued the tokens. */
  readonly keep: (account: Account, login: UpstreamLogin & { readonly origin: string }) => Promise<void>;
  readonly record: RecordStep;
}

/** Who has signed in. */
export interface SignedIn {
  readonly user: string;
  readonly identity: Identity;
}

/**
 * Redeems the answer of the provider. The tokens are kept before anything else, so that none is lost where the next
 * step fails. `whose`: the user for the subject of this account; it throws OtherUser where that is nobody's here.
 */
export const signIn = async (
  deps: SignInDeps,
  callback: ProviderCallback,
  whose: (subject: string) => string,
): Promise<SignedIn> => {
  const { upstream, request } = callback;
  const about = { type: 'oauth_upstream_login', provider: upstream.name, source: request } as const;
  try {
    const signedIn = await redeemed(deps, callback, whose);
    await deps.record({ ...about, outcome: 'success', user: signedIn.user });
    return signedIn;
  } catch (error) {
    await deps.record({ ...about, ...failureOf(error) });
    throw error;
  }
};

const redeemed = async (
  { mayNotSignIn, isEnded, keep, forget }: SignInDeps,
  { login, upstream, sent, answer }: ProviderCallback,
  whose: (subject: string) => string,
): Promise<SignedIn> => {
  const { tokens, identity } = await upstream.redeem(answer, sent.request);
  try {
    const user = whose(subjectOf(upstream.name, identity));
    if (await mayNotSignIn(user, login.begunAt)) throw new LoginGone();
    const account = { user, provider: upstream.name };
    await keep(account, { tokens, identity, origin: upstream.origin });
    // Access that was ended meanwhile has had all accounts forgotten, maybe before this one was kept.
    if (await isEnded(user, login.begunAt)) {
      await forget(account);
      throw new LoginGone();
    }
    return { user, identity };
  } catch (error) {
    if (error instanceof LoginGone || error instanceof OtherUser) await upstream.revoke(tokens);
    throw error;
  }
};

const failureOf = (error: unknown): Pick<Step, 'outcome' | 'error'> => {
  if (error instanceof LoginGone) return { outcome: 'denied', error: 'access_ended' };
  if (error instanceof OtherUser) return { outcome: 'denied', error: 'other_user' };
  if (!(error instanceof UpstreamError)) return { outcome: 'error' };
  if (error.code === 'access_denied') return { outcome: 'denied', error: error.code };
  return { outcome: error.kind === 'refused' ? 'failure' : 'error', error: error.code };
};
