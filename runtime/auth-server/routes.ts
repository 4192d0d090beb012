import type { Answer } from './answer.ts';
import type { BrowserRequest, Flow } from './flow.ts';
import { tooManyRequests, transientError } from './oauth-error.ts';
import { errorPage } from './pages/error-page.ts';
import { ENDPOINTS, METADATA_PATHS, pathOf } from './paths.ts';
import type { RequestSource } from './record/steps.ts';
import type { RequestBudgets } from './request-budgets.ts';
import type { AuthServerSettings } from './settings.ts';
import type { AccountPages } from './sign-in/account-pages.ts';

/** Endpoints that clients ask; each answers whatever it is sent. */
export interface ClientEndpoints {
  readonly token: (request: ClientRequest) => Promise<Answer>;
  readonly revoke: (request: ClientRequest) => Promise<Answer>;
  readonly register: (request: ClientRequest) => Promise<Answer>;
  readonly metadata: () => Promise<Answer>;
  readonly jwks: () => Promise<Answer>;
}

export interface ClientRequest extends RequestSource {
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Buffer;
}

/** One of the authorization server's routes. */
export interface Route {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly path: string;
  readonly answer: (request: RouteRequest) => Promise<Answer>;
}

/** What a route sees of its request. */
export interface RouteRequest extends ClientRequest {
  /** Without the question mark that is before it. */
  readonly query: string;
  readonly cookie: string | undefined;
}

export interface RouteParts {
  readonly flow: Flow;
  readonly accountPages: AccountPages;
  readonly endpoints: ClientEndpoints;
  readonly budgets: RequestBudgets;
}

/**
 * All routes at all paths by which they are reached: below the path of the issuer, below that of the page address, and
 * without, as behind a proxy that takes the path away.
 */
export const routesOf = (
  settings: AuthServerSettings,
  { flow, accountPages, endpoints, budgets }: RouteParts,
): readonly Route[] => {
  const { issuer, browserBase } = settings;
  const bases = unique(['', pathOf(issuer), pathOf(browserBase)]);
  const below = (method: Route['method'], path: string, answer: Route['answer']): readonly Route[] =>
    bases.map((base) => ({ method, path: `${base}${path}`, answer }));
  const limited =
    (what: 'authorize' | 'login' | 'token', answer: Route['answer']): Route['answer'] =>
    async (request) => {
      const waitMs = await budgets(what, request.address);
      if (waitMs === 0) return answer(request);
      const retryAfterSeconds = Math.ceil(waitMs / 1_000);
      if (what === 'token') return tooManyRequests(retryAfterSeconds);
      return errorPage({ kind: 'rate-limited', correlationId: request.correlationId(), retryAfterSeconds });
    };
  const metadata = withTransient(async () => endpoints.metadata());
  const jwks = withTransient(async () => endpoints.jwks());
  return [
    ...below('GET', ENDPOINTS.authorize, limited('authorize', inBrowser(flow.authorize))),
    ...below('GET', ENDPOINTS.login, limited('login', inBrowser(flow.login))),
    ...below('GET', ENDPOINTS.consent, limited('login', inBrowser(flow.consent))),
    ...below('POST', ENDPOINTS.consent, limited('login', inBrowser(flow.decide))),
    ...below('GET', ENDPOINTS.link, limited('authorize', inBrowser(accountPages.link))),
    ...below('POST', ENDPOINTS.link, limited('authorize', inBrowser(accountPages.begin))),
    ...below('GET', ENDPOINTS.accounts, limited('authorize', inBrowser(accountPages.accounts))),
    ...below('POST', ENDPOINTS.accounts, limited('authorize', inBrowser(accountPages.change))),
    ...callbackPaths(settings, bases).map((path) => ({
      method: 'GET' as const,
      path,
      answer: limited('login', inBrowser(flow.callback)),
    })),
    ...below('POST', ENDPOINTS.token, limited('token', withTransient(endpoints.token))),
    ...below('POST', ENDPOINTS.revoke, limited('token', withTransient(endpoints.revoke))),
    ...below('POST', ENDPOINTS.register, withTransient(endpoints.register)),
    // RFC 9110 §9.3.2: documents may be looked for; a page has its effects when it is shown.
    ...(['GET', 'HEAD'] as const).flatMap((method) => [
      ...below(method, ENDPOINTS.jwks, jwks),
      ...metadataPaths(issuer).map((path) => ({ method, path, answer: metadata })),
    ]),
  ];
};

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];

/** RFC 8414 §3.1 puts the well-known path before that of the issuer, OpenID Connect Discovery §4 behind it. */
const metadataPaths = (issuer: string): readonly string[] => {
  const base = pathOf(issuer);
  return unique(METADATA_PATHS.flatMap((path) => [path, `${path}${base}`, `${base}${path}`]));
};

/** Where identity providers send browsers back to. */
const callbackPaths = (settings: AuthServerSettings, bases: readonly string[]): readonly string[] =>
  unique([
    ...bases.map((base) => `${base}${ENDPOINTS.callback}`),
    ...settings.redirectUris.map((uri) => new URL(uri).pathname),
  ]);

const inBrowser =
  (step: (request: BrowserRequest) => Promise<Answer>): Route['answer'] =>
  ({ query, body, cookie, address, userAgent, correlationId }) =>
    step({
      query: new URLSearchParams(query),
      form: new URLSearchParams(body.toString()),
      cookie,
      address,
      userAgent,
      correlationId,
    });

const withTransient =
  (answer: Route['answer']): Route['answer'] =>
  async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      const known = transientError(error);
      if (known) return known;
      throw error;
    }
  };
