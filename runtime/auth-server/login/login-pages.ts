import { asVmcpError, type ErrorCode } from '../../errors.ts';
import type { Answer } from '../answer.ts';
import { ClientError } from '../clients/client-error.ts';
import { describeClient } from '../clients/client-description.ts';
import type { FindClient } from '../clients/clients.ts';
import { consentPage } from '../pages/consent-page.ts';
import type { CsrfTokens } from '../pages/csrf-tokens.ts';
import { departurePage } from '../pages/departure-page.ts';
import { type ErrorData, errorPage, type FailureKind } from '../pages/error-page.ts';
import { ENDPOINTS } from '../paths.ts';
import type { WaitingRequest } from '../provider/oauth.ts';
import type { AuthServerSettings } from '../settings.ts';
import { UpstreamError } from '../upstreams/index.ts';
import type { ConsentQuestion } from '../vault/consent.ts';
import type { Browsers } from './browser.ts';
import { type Login, LoginGone, OtherUser } from './logins.ts';

/** A request of a browser, as far as pages need it. */
export interface PageRequest {
  readonly form: URLSearchParams;
  readonly cookie: string | undefined;
  readonly address?: string | undefined;
  readonly correlationId: () => string;
}

export interface LoginPagesDeps {
  readonly settings: Pick<AuthServerSettings, 'name' | 'browserBase' | 'upstreams'>;
  readonly findClient: FindClient;
  readonly csrf: CsrfTokens;
  readonly browsers: Browsers;
  /** Called for what is a fault of this server or of a provider, and not of the user. */
  readonly onFailure: (error: unknown, correlationId: string) => void;
}

/** What a user is asked for. */
export interface Asked {
  readonly login: Login;
  readonly waiting: WaitingRequest;
  readonly question: ConsentQuestion;
  readonly request: PageRequest;
}

/** What a login shows to its user. */
export interface LoginPages {
  readonly consent: (asked: Asked) => Promise<Answer>;
  /** Whether this server has shown the form, for this login and this question, in this browser. */
  readonly isOurForm: (login: Login, questionDigest: string, request: PageRequest) => Promise<boolean>;
  readonly failure: (kind: FailureKind, request: PageRequest) => Answer;
  /** As `ofClient`, for an answer to a form: a page that goes on to the client. */
  readonly departure: (answer: Answer, request: PageRequest) => Answer;
  /** The answer of the authorization endpoint to a request that begins no login. */
  readonly ofClient: (answer: Answer, request: PageRequest) => Answer;
  /** The answer of a step, or the page that says why it has failed. */
  readonly answered: (request: PageRequest, step: () => Promise<Answer>) => Promise<Answer>;
}

export const loginPages = (deps: LoginPagesDeps): LoginPages => {
  const { csrf, browsers, onFailure } = deps;
  const failure = (kind: FailureKind, { correlationId }: PageRequest, more: Partial<ErrorData> = {}): Answer =>
    errorPage({ kind, correlationId: correlationId(), ...more });
  const ofClient = (answer: Answer, request: PageRequest): Answer => {
    if (answer.headers['location'] !== undefined) return answer;
    const { error, error_description: detail } = JSON.parse(answer.body) as Readonly<Record<string, unknown>>;
    return failure(kindOf(error), request, {
      detail: typeof detail === 'string' ? detail : undefined,
      retryAfterSeconds: secondsIn(answer.headers['retry-after']),
    });
  };
  const ofUnknownClient = (error: ClientError, request: PageRequest): Answer =>
    failure(kindOf(error.error), request, {
      detail: error.error_description,
      retryAfterSeconds: error.retryAfterSeconds,
    });
  return {
    ofClient,
    failure,
    consent: consentOf(deps),
    isOurForm: (login, digest, { form, cookie }) =>
      csrf.isValid(form.get('csrf') ?? undefined, browsers.secretIn(cookie) ?? '', formOf(login, digest)),
    departure: (answer, request) => {
      const { location } = answer.headers;
      return location === undefined ? ofClient(answer, request) : departurePage({ to: location, name: undefined });
    },
    answered: async (request, step) => {
      try {
        return await step();
      } catch (error) {
        if (error instanceof LoginGone)
          return failure(browsers.secretIn(request.cookie) === undefined ? 'other-browser' : 'expired', request);
        if (error instanceof OtherUser) return failure('other-user', request);
        if (error instanceof ClientError) return ofUnknownClient(error, request);
        onFailure(error, request.correlationId());
        if (error instanceof UpstreamError) return failure(kindOfProvider(error), request);
        return failure(KINDS[asVmcpError(error).code] ?? 'internal', request);
      }
    },
  };
};

const consentOf = ({ settings, findClient, csrf, browsers }: LoginPagesDeps): LoginPages['consent'] => {
  const inOrder = orderOf(settings.upstreams.map(({ name }) => name));
  return async ({ login, waiting: { clientId, redirectUri, scopes }, question, request: { cookie, address } }) => {
    const client = (await findClient(clientId, address)) ?? { client_id: clientId };
    const path = new URL(settings.browserBase).pathname.replace(/\/$/, '');
    return consentPage({
      server: settings.name,
      client: describeClient(client, redirectUri),
      scopes,
      accounts: inOrder([...login.finished].map(([provider, who]) => ({ provider, who }))).map(({ provider, who }) => {
        // As they are kept: meanwhile this browser may have signed in there once more, in another login.
        const { name, email } = question.accounts.find((each) => each.provider === provider)?.identity ?? who;
        return { provider, name, email };
      }),
      recipients: inOrder(question.accounts).flatMap(({ provider, recipients, notAgreed }) =>
        [...recipients].map(([backend, origins]) => ({ provider, backend, origins, isNew: notAgreed.has(backend) })),
      ),
      action: `${path}${ENDPOINTS.consent}?login=${login.id}`,
      csrfToken: await csrf.issue(browsers.secretIn(cookie) ?? '', formOf(login, question.digest)),
    });
  };
};

/** Sorts accounts in the order of the configuration: a store has none. */
const orderOf =
  (providers: readonly string[]) =>
  <T extends { readonly provider: string }>(accounts: readonly T[]): readonly T[] =>
    accounts.toSorted((a, b) => providers.indexOf(a.provider) - providers.indexOf(b.provider));

const secondsIn = (header: string | undefined): number | undefined =>
  header === undefined ? undefined : Number(header);

const formOf = ({ id }: Login, questionDigest: string): string => `${id} ${questionDigest}`;

const KINDS: Partial<Record<ErrorCode, FailureKind>> = {
  issuer_unavailable: 'unavailable',
  store_unavailable: 'unavailable',
  credential_unavailable: 'unavailable',
  overloaded: 'unavailable',
};

/** Secrets of this server that the provider was never sent. */
const MISSING_HERE: readonly string[] = ['client_secret_missing', 'initial_access_token_missing'];

const kindOfProvider = ({ kind, code }: UpstreamError): FailureKind => {
  if (MISSING_HERE.includes(code)) return 'unavailable';
  return kind === 'refused' ? 'provider-refused' : 'provider-unavailable';
};

const kindOf = (error: unknown): FailureKind => {
  if (error === 'invalid_client') return 'unknown-client';
  if (error === 'invalid_redirect_uri') return 'redirect-uri';
  if (error === 'temporarily_unavailable') return 'client-unavailable';
  return error === 'server_error' ? 'internal' : 'invalid-request';
};
