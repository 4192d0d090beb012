import { type AccountClaims, type Configuration, errors, Provider } from 'oidc-provider';
import type { Grants } from '../grants/grants.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../grants/proofs.ts';
import type { AuthServerSettings } from '../settings.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import { ENDPOINTS } from '../paths.ts';

export type ProviderSettings = Pick<
  AuthServerSettings,
  'issuer' | 'resource' | 'audience' | 'scopesSupported' | 'lifespans'
>;

export interface ProviderParts {
  readonly keys: SigningKeys;
  readonly grants: Pick<Grants, 'adapter' | 'rotateRefreshToken' | 'attach'>;
  /** What tokens say of a user beside the subject. */
  readonly profileOf: (subject: string) => Promise<Profile>;
}

/** Claims about a person (OpenID Connect Core §5.1). */
export interface Profile {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  /** Present where the identity provider says so. */
  readonly email_verified?: true | undefined;
}

/** What `Location` of an authorization request holds that waits for a login: this, and the id of the interaction. */
export const INTERACTION_PATH = '/interaction/';

export const RESUME_COOKIE = '_interaction_resume';

/** Time for a login, from the client's request to the decision of the user. */
export const LOGIN_MS = 30 * 60_000;

/** The session of the library is never shown to a browser: who signs in is asked each time. */
const SESSION_SECONDS = 60;

/**
 * The OAuth part of the authorization server: requests of clients, codes and tokens. Logins, consent, registration and
 * metadata are not its matter, and requests reach it in memory only (`exchange.ts`).
 */
export const oauthProvider = (settings: ProviderSettings, { keys, grants, profileOf }: ProviderParts): Provider => {
  const { issuer, lifespans, scopesSupported } = settings;
  const [{ alg }] = keys;
  const provider = new Provider(issuer, {
    adapter: grants.adapter,
    jwks: { keys: keys.map(({ privateJwk }) => privateJwk) },
    scopes: [...scopesSupported],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: alg as 'ES256',
    },
    enabledJWA: { idTokenSigningAlgValues: [alg as 'ES256'] },
    pkce: { required: () => true },
    rotateRefreshToken: grants.rotateRefreshToken,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    cookies: { names: { resume: RESUME_COOKIE } },
    routes: {
      authorization: ENDPOINTS.authorize,
      token: ENDPOINTS.token,
      revocation: ENDPOINTS.revoke,
      jwks: ENDPOINTS.jwks,
    },
    interactions: { url: (_ctx, { uid }) => `${INTERACTION_PATH}${uid}` },
    ttl: {
      AccessToken: secondsOf(lifespans.accessMs),
      AuthorizationCode: secondsOf(lifespans.codeMs),
      RefreshToken: secondsOf(lifespans.refreshMs),
      IdToken: secondsOf(lifespans.accessMs),
      // A grant is as old as its last refresh token can be, which is renewed at every use.
      Grant: GRANT_SECONDS,
      Interaction: secondsOf(LOGIN_MS),
      Session: SESSION_SECONDS,
    },
    features: featuresOf(settings, alg),
    extraTokenClaims: async (_ctx, token) => {
      const profile = 'accountId' in token ? await profileOf(token.accountId) : {};
      return Object.fromEntries(Object.entries(profile).filter(([, value]) => value !== undefined));
    },
    findAccount: (_ctx, subject) => ({
      accountId: subject,
      claims: async (): Promise<AccountClaims> => ({ sub: subject, ...(await profileOf(subject)) }),
    }),
    clientBasedCORS: () => false,
    renderError: (ctx, out) => {
      ctx.type = 'application/json';
      ctx.body = out;
    },
  });
  // The address of a request says whether it came over TLS, as it would behind a proxy.
  provider.proxy = true;
  grants.attach(provider);
  return provider;
};

const GRANT_SECONDS = 366 * 24 * 3_600;

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

const featuresOf = (settings: ProviderSettings, alg: string): Configuration['features'] => ({
  devInteractions: { enabled: false },
  userinfo: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  dPoP: { enabled: false },
  revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
  resourceIndicators: {
    enabled: true,
    defaultResource: async () => settings.resource,
    useGrantedResource: async () => true,
    getResourceServerInfo: async (ctx, resource, client) => {
      if (resource !== settings.resource) throw new errors.InvalidTarget('this server has no such resource');
      checkScopes(ctx.oidc.params?.['scope'], client.scope);
      return {
        scope: settings.scopesSupported.join(' '),
        audience: settings.audience,
        accessTokenTTL: secondsOf(settings.lifespans.accessMs),
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: alg as 'ES256' } },
      };
    },
  },
});

/** docs/authorization-server.md "Scopes": a client may ask for what it has registered, and for the baseline. */
const checkScopes = (asked: unknown, registered: string | undefined): void => {
  const known = new Set((registered ?? '').split(' '));
  const scopes = typeof asked === 'string' ? asked.split(' ') : [];
  const other = scopes.find((scope) => scope !== '' && !known.has(scope));
  if (other !== undefined) throw new errors.InvalidScope('the client has not registered this scope', other);
};
