import type { Log } from '../observe/index.ts';
import type { Clock } from '../process/index.ts';
import { prefixed, type Store } from '../store/index.ts';
import type { Answer } from './answer.ts';
import { type Clients, clients } from './clients/clients.ts';
import { withCanonicalResource } from './client-request.ts';
import { loginFlow } from './flow.ts';
import { type Grants, openGrants } from './grants/grants.ts';
import { isEnded } from './grants/revoked-users.ts';
import type { Keys } from './keys/keys.ts';
import { sealerFor } from './keys/sealer.ts';
import { deriveKey } from './keys/secrets.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import type { Account, SignInDeps } from './login/provider-callback.ts';
import { browsersAt } from './login/browser.ts';
import type { Lasting } from './lasting.ts';
import { loginPages } from './login/login-pages.ts';
import { Logins } from './login/logins.ts';
import { jwksOf, metadataOf } from './metadata.ts';
import { ENDPOINTS } from './paths.ts';
import { csrfTokens } from './pages/csrf-tokens.ts';
import { type OAuth, oauthOf } from './provider/oauth.ts';
import { LOGIN_MS, oauthProvider, type Profile } from './provider/provider.ts';
import { recordedEndpoints } from './record/recorded-endpoints.ts';
import type { RecordStep } from './record/steps.ts';
import type { RequestBudgets } from './request-budgets.ts';
import { type ClientEndpoints, type ClientRequest, type Route, routesOf } from './routes.ts';
import { type AuthServerSettings, boundTo } from './settings.ts';
import { accountPages } from './sign-in/account-pages.ts';
import { KnownUsers } from './sign-in/known-users.ts';
import { Links } from './sign-in/links.ts';
import type { SignInEvents } from './sign-in/sign-in-events.ts';
import type { Upstream } from './upstreams/index.ts';
import { GRANTS } from './store-prefixes.ts';
import type { Users } from './users.ts';
import type { Recipients } from './vault/account-record.ts';
import type { LinkedAccount, TokenVault } from './vault/vault.ts';

export interface ServedDeps {
  readonly clock: Clock;
  readonly entropy: (bytes: number) => Buffer;
  readonly store: Store;
  readonly keys: Keys;
  readonly vault: TokenVault;
  readonly users: Pick<Users, 'mayNotSignIn'>;
  readonly budgets: RequestBudgets;
  readonly log: Pick<Log, 'warn'>;
  readonly signInEvents: SignInEvents;
  readonly record: RecordStep;
  /** The backends whose requests carry tokens of this provider, with the origins that these are sent to. */
  readonly recipientsOf: (provider: string) => Recipients;
  readonly lasting: Lasting;
}

/** What the configuration of the moment makes of the authorization server. */
export interface Served {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly routes: readonly Route[];
  readonly links: Links;
  readonly browserBase: string;
}

export const served = (settings: AuthServerSettings, deps: ServedDeps): Served => {
  const { clock, entropy, store, keys, lasting } = deps;
  const scopes = { supported: settings.scopesSupported, baseline: settings.baselineScopes };
  const known = clients(settings.issuer, {
    secrets: keys.secrets,
    isShared: keys.isShared,
    nonce: entropy,
    findPublished: lasting.published.find,
    clock,
    scopes: () => scopes,
    waitMs: (address) => deps.budgets('register', address),
  });
  const upstreams = lasting.upstreamsOf(settings);
  const grants = openGrants({
    store: prefixed(store, GRANTS),
    secrets: keys.secrets,
    boundTo: () => boundTo(settings),
    clock,
    reach: lasting.reach,
    findClient: known.findClient,
    refreshReuseWindowMs: settings.refreshReuseWindowMs,
    onEnded: (ended) => void deps.record({ type: 'oauth_grant_ended', outcome: 'success', ...ended }),
  });
  const oauth = oauthOfTheMoment(settings, grants, deps);
  const parts = browserParts(settings, known, { ...deps, upstreams });
  const pagesOfAccounts = accountPages(parts);
  const flow = loginFlow({ ...parts, oauth, keepFor: grants.keepFor, accountCallback: pagesOfAccounts.callback });
  return {
    upstreams: new Map(upstreams.map((upstream) => [upstream.name, upstream])),
    routes: routesOf(settings, {
      flow,
      accountPages: pagesOfAccounts,
      endpoints: recordedEndpoints(endpointsOf(settings, { oauth, known, keys }), deps.record),
      budgets: deps.budgets,
    }),
    links: parts.links,
    browserBase: settings.browserBase,
  };
};

interface BrowserDeps extends ServedDeps {
  readonly upstreams: readonly Upstream[];
}

/** What serves browsers, with a client behind them or without. */
const browserParts = (settings: AuthServerSettings, { findClient }: Clients, deps: BrowserDeps) => {
  const { keys, entropy, store, vault, users, log, signInEvents, upstreams, recipientsOf, clock } = deps;
  const { browserBase: base, issuer, onDemand } = settings;
  const browsers = browsersAt(base, entropy);
  const csrf = csrfTokens({ secrets: keys.secrets, issuer, deriveKey });
  const sealed = (purpose: string) =>
    sealerFor(purpose, { secrets: keys.secrets, boundTo: () => boundTo(settings), clock, entropy });
  const logins = new Logins({
    store: prefixed(store, 'login:'),
    sealer: sealed('logins'),
    entropy,
    clock,
    ttlMs: LOGIN_MS,
  });
  const grantStore = prefixed(store, GRANTS);
  const hasEnded = (user: string, atMs: number): Promise<boolean> => isEnded(grantStore, user, atMs);
  const signInParts = { store: prefixed(store, 'sign-in:'), entropy, clock, isEnded: hasEnded };
  return {
    settings,
    upstreams,
    onDemand,
    findClient,
    mayNotSignIn: users.mayNotSignIn,
    isEnded: hasEnded,
    forget: ({ user, provider }: Account) => vault.remove(user, provider),
    record: deps.record,
    browsers,
    logins,
    csrf,
    vault,
    signInEvents,
    recipientsOf,
    links: new Links({ ...signInParts, sealer: sealed('links'), issuer }),
    knownUsers: new KnownUsers({ ...signInParts, sealer: sealed('known users'), base }),
    keep: (of: Account, { tokens, identity, origin }: Parameters<SignInDeps['keep']>[1]) =>
      vault.put(of, tokens, identity, origin),
    alive: async (user: string) => aliveIn(await vault.linked(user)),
    announce: signInEvents.announce,
    question: vault.question,
    agree: vault.agree,
    pages: loginPages({
      settings,
      findClient,
      csrf,
      browsers,
      onFailure: (err, correlationId) => log.warn({ err, correlationId }, 'a sign-in has failed'),
    }),
  };
};

const aliveIn = (accounts: readonly LinkedAccount[]): ReadonlySet<string> =>
  new Set(accounts.filter(({ state }) => state === 'linked').map(({ provider }) => provider));

/** The OAuth part with the keys of the moment: made anew when they have changed. */
const oauthOfTheMoment = (
  settings: AuthServerSettings,
  grants: Grants,
  { keys, vault, lasting }: Pick<ServedDeps, 'keys' | 'vault' | 'lasting'>,
): (() => Promise<OAuth>) => {
  let made: { readonly keys: SigningKeys; readonly oauth: OAuth } | undefined;
  return async () => {
    const signing = await keys.signing();
    if (made?.keys !== signing) {
      const provider = oauthProvider(settings, { keys: signing, grants, profileOf: profilesIn(vault) });
      provider.on('grant.success', ({ oidc: { client } }) => client && lasting.published.markInUse(client.clientId));
      made = { keys: signing, oauth: oauthOf(provider, settings) };
    }
    return made.oauth;
  };
};

/** Who the user is at the identity provider that the subject names. */
const profilesIn =
  (vault: TokenVault) =>
  async (subject: string): Promise<Profile> => {
    const provider = subject.split('|', 1)[0];
    const account = (await vault.linked(subject)).find((each) => each.provider === provider);
    const { name, email, emailVerified } = account?.identity ?? {};
    return { name, email, email_verified: emailVerified };
  };

interface EndpointParts {
  readonly oauth: () => Promise<OAuth>;
  readonly known: Clients;
  readonly keys: Keys;
}

const endpointsOf = (settings: AuthServerSettings, { oauth, known, keys }: EndpointParts): ClientEndpoints => {
  const ask = async (path: string, { contentType, authorization, body, address }: ClientRequest): Promise<Answer> => {
    const { exchange } = await oauth();
    const form = withCanonicalResource(new URLSearchParams(body.toString()), settings).toString();
    const headers = { 'content-type': contentType, authorization };
    return exchange({ method: 'POST', path, headers, body: form, address });
  };
  return {
    token: (request) => ask(ENDPOINTS.token, request),
    revoke: (request) => ask(ENDPOINTS.revoke, request),
    register: (request) => known.register(request),
    metadata: async () => {
      const [{ alg }] = await keys.signing();
      return json(metadataOf(settings, alg));
    },
    jwks: async () => json(jwksOf(await keys.published())),
  };
};

const json = (value: object): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' },
  body: JSON.stringify(value),
});
