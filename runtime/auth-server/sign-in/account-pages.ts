import { hash } from 'node:crypto';
import type { Answer } from '../answer.ts';
import type { BrowserRequest } from '../flow.ts';
import { type ProviderCallback, signIn, type SignInDeps } from '../login/provider-callback.ts';
import type { Browsers } from '../login/browser.ts';
import type { LoginPages } from '../login/login-pages.ts';
import { type Login, LoginGone, type Logins, OtherUser } from '../login/logins.ts';
import type { ForAccount, AccountLinking } from '../login/purpose.ts';
import type { CsrfTokens } from '../pages/csrf-tokens.ts';
import { departurePage } from '../pages/departure-page.ts';
import { linkedAccountsPage } from '../pages/linked-accounts-page.ts';
import { donePage, signInPage } from '../pages/sign-in-page.ts';
import { ENDPOINTS, pathOf } from '../paths.ts';
import type { RequestSource } from '../record/steps.ts';
import { redirect } from '../redirect.ts';
import type { AuthServerSettings } from '../settings.ts';
import { type Upstream, UpstreamError } from '../upstreams/index.ts';
import type { Recipients } from '../vault/account-record.ts';
import type { TokenVault } from '../vault/vault.ts';
import type { KnownUser, KnownUsers } from './known-users.ts';
import type { Link, Links } from './links.ts';
import type { SignInEvents } from './sign-in-events.ts';

/**
 * What users do here without a client, each line a request of the browser, each word a step:
 *
 *     link       opened → known as its user → asked
 *     begin      opened → known as its user → form checked → sent to the provider
 *     accounts   known → shown
 *     change     known → form checked → disconnected, or on to a link
 *     callback   redeemed → kept → (used up → agreed → announced) → back
 *
 * A browser is known once its user has signed in at the first identity provider in it, a while ago at most: whoever
 * opens another user's link gets no further than that, so that no account is linked with a user whose it is not.
 */
export interface AccountPages {
  readonly link: (request: BrowserRequest) => Promise<Answer>;
  readonly begin: (request: BrowserRequest) => Promise<Answer>;
  readonly accounts: (request: BrowserRequest) => Promise<Answer>;
  readonly change: (request: BrowserRequest) => Promise<Answer>;
  /** The browser comes back from an identity provider. */
  readonly callback: (login: Login, purpose: ForAccount, from: ProviderCallback | undefined) => Promise<Answer>;
}

export interface AccountPagesDeps extends SignInDeps {
  readonly settings: Pick<AuthServerSettings, 'browserBase' | 'name'>;
  readonly logins: Logins;
  readonly browsers: Browsers;
  readonly upstreams: readonly Upstream[];
  readonly vault: Pick<TokenVault, 'agreeTo' | 'linked' | 'remove'>;
  /** Who gets the tokens of this provider, as it is configured now. */
  readonly recipientsOf: (provider: string) => Recipients;
  readonly knownUsers: KnownUsers;
  readonly links: Links;
  readonly signInEvents: Pick<SignInEvents, 'announce'>;
  readonly csrf: CsrfTokens;
  readonly pages: Pick<LoginPages, 'answered' | 'failure'>;
}

export const accountPages = (deps: AccountPagesDeps): AccountPages => {
  const { answered } = deps.pages;
  return {
    link: (request) => answered(request, () => link(deps, request)),
    begin: (request) => answered(request, () => begin(deps, request)),
    accounts: (request) => answered(request, () => accounts(deps, request)),
    change: (request) => answered(request, () => change(deps, request)),
    callback: (login, purpose, from) => callback(deps, { login, purpose, from }),
  };
};

/** A link in the browser of the user that it is for. */
interface OwnLink {
  readonly text: string;
  readonly link: Link;
  readonly user: KnownUser;
  readonly upstream: Upstream;
}

const link = (deps: AccountPagesDeps, request: BrowserRequest): Promise<Answer> =>
  withOwnLink(deps, request, async (own) => {
    const { provider, user } = own.link;
    if (!(await deps.links.isUsed(own.link))) return asked(deps, request, own);
    const account = (await deps.vault.linked(user)).find((each) => each.provider === provider);
    if (account?.state !== 'linked') throw new LoginGone();
    return done(deps, `You are signed in to ${provider}.`);
  });

const begin = (deps: AccountPagesDeps, request: BrowserRequest): Promise<Answer> =>
  withOwnLink(deps, request, async (own) => {
    const { text, link: opened, upstream } = own;
    // Also where other backends get the tokens now: the user decides about what was shown.
    if (!(await isOurs(deps, request, formOf(deps, own)))) return asked(deps, request, own);
    if (request.form.get('do') !== 'sign-in') return done(deps, 'Nothing was changed.');
    if (await deps.links.isUsed(opened)) throw new LoginGone();
    const recipients = [...deps.recipientsOf(upstream.name)];
    const account: AccountLinking = { user: opened.user, provider: upstream.name, link: text, recipients };
    // The user has signed in there on the way to this page.
    if (upstream === deps.upstreams[0] && own.user.signedInAt >= opened.issuedAt) {
      if (await deps.links.use(opened)) await agreed(deps, account, request);
      return redirect(atBase(deps, linkPath(text)));
    }
    const purpose: ForAccount = { kind: 'account', returnTo: linkPath(text), account };
    const { to, headers } = await sentToProvider(deps, request, { purpose, upstream });
    const page = departurePage({ to, name: upstream.name });
    return { ...page, headers: { ...page.headers, ...headers } };
  });

const withOwnLink = async (
  deps: AccountPagesDeps,
  request: BrowserRequest,
  use: (own: OwnLink) => Promise<Answer>,
): Promise<Answer> => {
  const text = request.query.get('t') ?? '';
  const opened = await deps.links.open(text);
  const upstream = deps.upstreams.find(({ name }) => name === opened?.provider);
  if (!opened || !upstream) throw new LoginGone();
  const user = await deps.knownUsers.who(request.cookie);
  if (!user) return identified(deps, request, linkPath(text));
  if (user.user !== opened.user) return deps.pages.failure('other-user', request);
  return use({ text, link: opened, user, upstream });
};

const asked = async (deps: AccountPagesDeps, request: BrowserRequest, own: OwnLink): Promise<Answer> => {
  const { settings, recipientsOf } = deps;
  const { user, upstream, text } = own;
  const shown = await formShown(deps, request, formOf(deps, own));
  const page = signInPage({
    server: settings.name,
    provider: upstream.name,
    user: user.name ?? user.email,
    recipients: [...recipientsOf(upstream.name)].map(([backend, origins]) => ({ backend, origins })),
    action: `${pathOf(settings.browserBase)}${linkPath(text)}`,
    csrfToken: shown.csrfToken,
  });
  return { ...page, headers: { ...page.headers, ...shown.headers } };
};

const accounts = async (deps: AccountPagesDeps, request: BrowserRequest): Promise<Answer> => {
  const { settings, upstreams, vault, knownUsers } = deps;
  const user = await knownUsers.who(request.cookie);
  if (!user) return identified(deps, request, ENDPOINTS.accounts);
  const linked = new Map((await vault.linked(user.user)).map((each) => [each.provider, each]));
  const shown = await formShown(deps, request, accountsForm(user));
  const page = linkedAccountsPage({
    server: settings.name,
    user: user.name ?? user.email,
    accounts: upstreams.map(({ name: provider }) => {
      const { identity, since, state = 'not-linked' as const } = linked.get(provider) ?? {};
      return { provider, name: identity?.name, email: identity?.email, since, state };
    }),
    action: `${pathOf(settings.browserBase)}${ENDPOINTS.accounts}`,
    csrfToken: shown.csrfToken,
  });
  return { ...page, headers: { ...page.headers, ...shown.headers } };
};

const change = async (deps: AccountPagesDeps, request: BrowserRequest): Promise<Answer> => {
  const { vault, knownUsers, links, upstreams, record } = deps;
  const { form } = request;
  const user = await knownUsers.who(request.cookie);
  if (!user || !(await isOurs(deps, request, accountsForm(user)))) return accounts(deps, request);
  const provider = upstreams.find(({ name }) => name === form.get('provider'))?.name;
  if (form.get('do') === 'sign-in' && provider !== undefined)
    return redirect(atBase(deps, linkPath(await links.make(user.user, provider))));
  if (form.get('do') === 'disconnect' && provider !== undefined) {
    await vault.remove(user.user, provider);
    await record({ type: 'account_unlinked', outcome: 'success', source: request, user: user.user, provider });
  }
  if (form.get('do') === 'sign-out') {
    await knownUsers.forget(request.cookie);
    return done(deps, 'You are signed out here.');
  }
  return redirect(atBase(deps, ENDPOINTS.accounts));
};

interface AccountCallback {
  readonly login: Login;
  readonly purpose: ForAccount;
  /** Undefined: the browser was here with this answer before. */
  readonly from: ProviderCallback | undefined;
}

const callback = async (deps: AccountPagesDeps, { login, purpose, from }: AccountCallback): Promise<Answer> => {
  const back = redirect(atBase(deps, purpose.returnTo));
  if (!from) return back;
  try {
    const setCookie = purpose.account ? await linked(deps, purpose.account, from) : await identifiedBy(deps, from);
    await deps.logins.close(login);
    return setCookie === undefined ? back : { ...back, headers: { ...back.headers, 'set-cookie': setCookie } };
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.code !== 'access_denied') throw error;
    // Without an account the way back would lead to the provider once more.
    return purpose.account ? back : done(deps, 'You have not signed in.');
  }
};

/** The user has signed in at the first provider: the browser is known from now on. */
const identifiedBy = async (deps: AccountPagesDeps, from: ProviderCallback): Promise<string> => {
  const { user, identity } = await signIn(deps, from, (subject) => subject);
  await deps.signInEvents.announce({ user, provider: from.upstream.name });
  return deps.knownUsers.remember({ user, name: identity.name, email: identity.email });
};

const linked = async (
  deps: AccountPagesDeps,
  account: AccountLinking,
  from: ProviderCallback,
): Promise<string | undefined> => {
  const { links, upstreams, knownUsers } = deps;
  const { upstream, answer, request } = from;
  const opened = await links.open(account.link);
  if (!opened) throw new LoginGone();
  // A refusal leaves the link as it is.
  if (answer.has('code') && !(await links.use(opened))) throw new LoginGone();
  const isFirst = upstream.name === upstreams[0]?.name;
  const { user, identity } = await signIn(deps, from, (subject) => {
    if (isFirst && subject !== account.user) throw new OtherUser();
    return account.user;
  });
  await agreed(deps, account, request);
  return isFirst ? knownUsers.remember({ user, name: identity.name, email: identity.email }) : undefined;
};

const agreed = async (
  { vault, signInEvents, record }: AccountPagesDeps,
  { user, provider, recipients }: AccountLinking,
  source: RequestSource,
): Promise<void> => {
  await vault.agreeTo({ user, provider }, new Map(recipients));
  await record({ type: 'account_linked', outcome: 'success', source, user, provider });
  await signInEvents.announce({ user, provider });
};

/** The browser has to show first who its user is, and comes back here then. */
const identified = async (deps: AccountPagesDeps, request: BrowserRequest, returnTo: string): Promise<Answer> => {
  const [first] = deps.upstreams;
  if (!first) throw new LoginGone();
  const { to, headers } = await sentToProvider(deps, request, {
    purpose: { kind: 'account', returnTo },
    upstream: first,
  });
  const answer = redirect(to);
  return { ...answer, headers: { ...answer.headers, ...headers } };
};

interface ProviderVisit {
  readonly purpose: ForAccount;
  readonly upstream: Upstream;
}

const sentToProvider = async (
  { logins, browsers }: AccountPagesDeps,
  { cookie }: BrowserRequest,
  { purpose, upstream }: ProviderVisit,
): Promise<{ readonly to: string; readonly headers: Readonly<Record<string, string>> }> => {
  const { secret, setCookie } = browsers.known(cookie);
  const login = await logins.open(purpose, secret);
  const { href } = await upstream.authorizationUrl(await logins.newRequest(login, upstream.name));
  return { to: href, headers: setCookie === undefined ? {} : { 'set-cookie': setCookie } };
};

const formShown = async ({ browsers, csrf }: AccountPagesDeps, { cookie }: BrowserRequest, form: string) => {
  const { secret, setCookie } = browsers.known(cookie);
  const headers: Readonly<Record<string, string>> = setCookie === undefined ? {} : { 'set-cookie': setCookie };
  return { csrfToken: await csrf.issue(secret, form), headers };
};

/** Whether this server has shown this very form in this browser. */
const isOurs = (
  { browsers, csrf }: AccountPagesDeps,
  { form, cookie }: BrowserRequest,
  shown: string,
): Promise<boolean> => csrf.isValid(form.get('csrf') ?? undefined, browsers.secretIn(cookie) ?? '', shown);

const formOf = ({ recipientsOf }: AccountPagesDeps, { link: { id }, upstream }: OwnLink): string => {
  const recipients = [...recipientsOf(upstream.name)].map((each) => JSON.stringify(each)).toSorted();
  return `link ${id} ${hash('sha256', JSON.stringify(recipients), 'base64url')}`;
};

const accountsForm = ({ user }: KnownUser): string => `accounts ${user}`;

export const linkPath = (text: string): string => `${ENDPOINTS.link}?t=${text}`;

const atBase = ({ settings }: Pick<AccountPagesDeps, 'settings'>, path: string): string =>
  `${settings.browserBase}${path}`;

const done = (deps: AccountPagesDeps, what: string): Answer =>
  donePage(what, `${pathOf(deps.settings.browserBase)}${ENDPOINTS.accounts}`);
