import type { Answer } from './answer.ts';
import { authorizationRequest, withoutStepUp } from './client-request.ts';
import type { FindClient } from './clients/clients.ts';
import type { Browsers } from './login/browser.ts';
import { type Account, type ProviderCallback, signIn, type SignInDeps } from './login/provider-callback.ts';
import { nextUpstream } from './login/next-upstream.ts';
import { type Finished, type Login, LoginGone, loginIn, type Logins } from './login/logins.ts';
import type { ForAccount, ForClient } from './login/purpose.ts';
import type { LoginPages } from './login/login-pages.ts';
import { ENDPOINTS } from './paths.ts';
import { errorIn, interactionIn, type OAuth } from './provider/oauth.ts';
import type { RequestSource, Step } from './record/steps.ts';
import { redirect } from './redirect.ts';
import type { AuthServerSettings } from './settings.ts';
import { type Upstream, UpstreamError } from './upstreams/index.ts';
import type { ConsentQuestion } from './vault/consent.ts';

/**
 * A login, from the request of a client to its code. Each line is one request of the browser, each word a step:
 *
 *     authorize   checked → begun → next
 *     callback    found → request taken (once) → redeemed → kept → finished → next
 *     login       found → next
 *     consent     found → shown
 *     decide      found → decided
 *
 * `next` is the next identity provider where the user has to sign in (`login/next-upstream.ts`), and after the last one
 * the page of consent. What users do with their accounts, without a client, is in `sign-in/account-pages.ts`; their
 * browsers come back to the same address.
 */
export const loginFlow = (deps: FlowDeps): Flow => {
  const { answered } = deps.pages;
  return {
    authorize: (request) => answered(request, () => authorize(deps, request)),
    callback: (request) => answered(request, () => callback(deps, request)),
    login: (request) => answered(request, async () => next(deps, await found(deps, request))),
    consent: (request) => answered(request, () => consent(deps, request)),
    decide: (request) => answered(request, () => decide(deps, request)),
  };
};

type Answering = (request: BrowserRequest) => Promise<Answer>;

export type Flow = Readonly<Record<'authorize' | 'callback' | 'login' | 'consent' | 'decide', Answering>>;

/** What a browser sends. */
export interface BrowserRequest extends RequestSource {
  readonly query: URLSearchParams;
  /** The form that was sent; empty: none. */
  readonly form: URLSearchParams;
  readonly cookie: string | undefined;
}

export interface FlowDeps extends SignInDeps {
  readonly settings: AuthServerSettings;
  readonly oauth: () => Promise<OAuth>;
  readonly findClient: FindClient;
  readonly logins: Logins;
  readonly browsers: Browsers;
  /** In the order in which users sign in there. */
  readonly upstreams: readonly Upstream[];
  /** Providers where users sign in once they need it. */
  readonly onDemand: ReadonlySet<string>;
  /** The providers that have issued tokens to the user which are still good. */
  readonly alive: (user: string) => Promise<ReadonlySet<string>>;
  /** Who gets the tokens of the user, as it is configured now. */
  readonly question: (user: string) => Promise<ConsentQuestion>;
  /** The user has agreed to the question of this digest. False: it has changed. */
  readonly agree: (user: string, digest: string) => Promise<boolean>;
  /** The request of a client waits for this user: no request of a stranger displaces it any more. */
  readonly keepFor: (user: string, interaction: string) => Promise<void>;
  /** The user has signed in there, and agreed. */
  readonly announce: (of: Account) => Promise<void>;
  readonly knownUsers: {
    readonly who: (cookie: string | undefined) => Promise<Finished | undefined>;
    /** The value of `Set-Cookie` by which the browser shows later who its user is. */
    readonly remember: (user: Finished) => Promise<string>;
  };
  /** The browser comes back from a provider where its user was for an account, and for no client. */
  readonly accountCallback: (login: Login, purpose: ForAccount, from: ProviderCallback | undefined) => Promise<Answer>;
  readonly pages: LoginPages;
}

const authorize = async (deps: FlowDeps, request: BrowserRequest): Promise<Answer> => {
  const { settings, oauth, findClient, logins, browsers, pages, upstreams } = deps;
  const { query: plain, asked } = withoutStepUp(request.query, new Set(upstreams.map(({ name }) => name)));
  const { address } = request;
  const query = await authorizationRequest(plain, settings, (clientId) => findClient(clientId, address));
  const { exchange } = await oauth();
  const answer = await exchange({ method: 'GET', path: `${ENDPOINTS.authorize}?${query.toString()}`, address });
  const interaction = interactionIn(answer);
  const [clientId, scope] = ['client_id', 'scope'].map((name) => query.get(name) ?? undefined);
  const came = interaction === undefined ? refusalIn(answer) : ({ outcome: 'success' } as const);
  await deps.record({ type: 'oauth_authorize', ...came, source: request, clientId, scope });
  if (interaction === undefined) return pages.ofClient(answer, request);
  const { secret, setCookie } = browsers.known(request.cookie);
  const login = await logins.open({ kind: 'client', interaction, asked }, secret);
  const first = await next(deps, await alreadyKnown(deps, login, request));
  return setCookie === undefined ? first : { ...first, headers: { ...first.headers, 'set-cookie': setCookie } };
};

/** RFC 6749 §4.1.2.1: these two are no fault of the request. */
const OF_OURS: readonly (string | undefined)[] = ['server_error', 'temporarily_unavailable'];

const refusalIn = (answer: Answer): Pick<Step, 'outcome' | 'error'> => {
  const error = errorIn(answer);
  return { outcome: OF_OURS.includes(error) ? 'error' : 'failure', error };
};

/**
 * A step-up goes on as the user whom this browser has shown to be a while ago; every other login asks again who it is.
 */
const alreadyKnown = async (deps: FlowDeps, login: Login, { query, cookie }: BrowserRequest): Promise<Login> => {
  const { upstreams, knownUsers, alive } = deps;
  const [first] = upstreams;
  const { asked } = forClient(login);
  if (!first || asked.length === 0 || asked.includes(first.name) || query.has('prompt')) return login;
  const known = await knownUsers.who(cookie);
  if (!known || !(await alive(known.user)).has(first.name)) return login;
  const { user, name, email } = known;
  return finished(deps, login, { provider: first.name, who: { user, name, email } });
};

interface SignedInAt {
  readonly provider: string;
  readonly who: Finished;
}

/** The login goes on with one provider less: it and the request that waits for it are the user's from now on. */
const finished = async (deps: FlowDeps, login: Login, { provider, who }: SignedInAt): Promise<Login> => {
  const { interaction } = forClient(login);
  const [further] = await Promise.all([
    deps.logins.finish(login, provider, who),
    login.finished.size === 0 && deps.keepFor(who.user, interaction),
  ]);
  return further;
};

const callback = async (deps: FlowDeps, request: BrowserRequest): Promise<Answer> => {
  const { logins, browsers, upstreams } = deps;
  const state = request.query.get('state') ?? '';
  const login = await logins.read(loginIn(state), browsers.secretIn(request.cookie));
  if (!login) return elsewhere(deps, request.query);
  const sent = await logins.takeRequest(login, state);
  const upstream = upstreams.find(({ name }) => name === sent?.provider);
  // An answer that came before signs nobody in; the browser that repeats it goes on where it was.
  const from = sent && upstream && { login, upstream, sent, answer: request.query, request };
  if (login.purpose.kind === 'account') return deps.accountCallback(login, login.purpose, from);
  if (!from) return next(deps, login);
  const { interaction } = login.purpose;
  const { address } = request;
  try {
    return await signedIn(deps, from);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.code !== 'access_denied') throw error;
    return closed(deps, login, {
      request,
      by: (oauth) => oauth.deny(interaction, { why: 'the user has not signed in', address }),
    });
  }
};

const signedIn = async (deps: FlowDeps, from: ProviderCallback): Promise<Answer> => {
  const { login, upstream } = from;
  const { user, identity } = await signIn(deps, from, (subject) => userOf(deps, login) ?? subject);
  const who: Finished = { user, name: identity.name, email: identity.email };
  const answer = await next(deps, await finished(deps, login, { provider: upstream.name, who }));
  if (upstream !== deps.upstreams[0]) return answer;
  return { ...answer, headers: { ...answer.headers, 'set-cookie': await deps.knownUsers.remember(who) } };
};

const next = async (deps: FlowDeps, login: Login): Promise<Answer> => {
  const { settings, logins } = deps;
  const upstream = await nextUpstream(deps, login);
  if (!upstream) return redirect(`${settings.browserBase}${ENDPOINTS.consent}?login=${login.id}`);
  return redirect((await upstream.authorizationUrl(await logins.newRequest(login, upstream.name))).href);
};

const consent = async (deps: FlowDeps, request: BrowserRequest): Promise<Answer> =>
  asked(deps, await found(deps, request), request);

/** The page of consent, once the user has signed in everywhere. */
const asked = async (deps: FlowDeps, login: Login, request: BrowserRequest): Promise<Answer> => {
  const user = userOf(deps, login);
  if (user === undefined || (await nextUpstream(deps, login))) return next(deps, login);
  const waiting = await (await deps.oauth()).waiting(forClient(login).interaction);
  if (!waiting) throw new LoginGone();
  return deps.pages.consent({ login, waiting, question: await deps.question(user), request });
};

const decide = async (deps: FlowDeps, request: BrowserRequest): Promise<Answer> => {
  const login = await found(deps, request);
  const { interaction } = forClient(login);
  const { address } = request;
  const user = userOf(deps, login);
  if (user === undefined || (await nextUpstream(deps, login))) return next(deps, login);
  const { digest } = await deps.question(user);
  // Also where backends were configured anew meanwhile: the user decides about what was shown.
  if (!(await deps.pages.isOurForm(login, digest, request))) return asked(deps, login, request);
  const waiting = await (await deps.oauth()).waiting(interaction);
  if (!waiting) throw new LoginGone();
  const isRefused = request.form.get('decision') !== 'approve';
  if (!isRefused && !(await deps.agree(user, digest))) return asked(deps, login, request);
  const { clientId } = waiting;
  const outcome = isRefused ? 'denied' : 'success';
  await deps.record({ type: 'oauth_consent', outcome, source: request, user, clientId });
  if (isRefused)
    return closed(deps, login, {
      request,
      by: (oauth) => oauth.deny(interaction, { why: 'the user has refused', address }),
    });
  for (const provider of login.finished.keys()) await deps.announce({ user, provider });
  const by: Decision['by'] = async (oauth) => {
    const answer = await oauth.approve(interaction, { user, address });
    // A code that is made after the end of the user's access would give tokens: it is told to nobody.
    return (await deps.isEnded(user, login.begunAt)) ? undefined : answer;
  };
  return closed(deps, login, { request, by });
};

interface Decision {
  readonly request: BrowserRequest;
  readonly by: (oauth: OAuth) => Promise<Answer | undefined>;
}

/** The login ends with the answer to the client, to which the browser goes. */
const closed = async ({ oauth, logins, pages }: FlowDeps, login: Login, { request, by }: Decision): Promise<Answer> => {
  const answer = await by(await oauth());
  if (!answer) throw new LoginGone();
  await logins.close(login);
  return pages.departure(answer, request);
};

/** The login of this browser. Throws LoginGone where it has ended, or is another browser's. */
const found = async (deps: FlowDeps, { query, cookie }: BrowserRequest): Promise<Login> => {
  const { logins, browsers, mayNotSignIn } = deps;
  const login = await logins.read(query.get('login') ?? '', browsers.secretIn(cookie));
  const user = login && userOf(deps, login);
  if (!login || (user !== undefined && (await mayNotSignIn(user, login.begunAt)))) throw new LoginGone();
  return login;
};

/** Throws LoginGone: a login for an account ends at no client. */
const forClient = ({ purpose }: Login): ForClient => {
  if (purpose.kind !== 'client') throw new LoginGone();
  return purpose;
};

/** Who signs in: the user of the first provider. */
const userOf = ({ upstreams: [first] }: FlowDeps, { finished }: Login): string | undefined =>
  first && finished.get(first.name)?.user;

/** Marks an answer of a provider that another host of this server has sent on. */
const SENT_ON = 'sent_on';

/**
 * A provider may send browsers to another host of this server than the one where the login began, which has no cookie:
 * it sends them on to where the cookie is.
 */
const elsewhere = ({ settings: { browserBase }, upstreams }: FlowDeps, query: URLSearchParams): Answer => {
  const { origin } = new URL(browserBase);
  const isAtHome = upstreams.every(({ redirectUri }) => new URL(redirectUri).origin === origin);
  if (isAtHome || query.has(SENT_ON)) throw new LoginGone();
  const sentOn = new URLSearchParams([...query, [SENT_ON, '1']]);
  return redirect(`${browserBase}${ENDPOINTS.callback}?${sentOn.toString()}`);
};
