import { hash } from 'node:crypto';
import {
  audienceForms,
  canonicalResource,
  type Config,
  resourceUrlIn,
  supportedScopes,
  type UpstreamProviderConfig,
} from '../config/index.ts';
import type { StoreSettings } from '../store/index.ts';
import type { KeyFiles } from './keys/keys.ts';

/** What the configuration says of the authorization server. */
export interface AuthServerSettings {
  /** Placed in `iss`; clients compare it character by character. */
  readonly issuer: string;
  /** Where browsers find this server: the base of the authorization endpoint and of all pages. */
  readonly browserBase: string;
  /** Identifier of the protected resource, in its canonical form. */
  readonly resource: string;
  /** Texts that stand for the resource in requests of clients. */
  readonly resourceForms: readonly string[];
  /** `aud` of access tokens. */
  readonly audience: string;
  readonly scopesSupported: readonly string[];
  /** Scopes that every client has. */
  readonly baselineScopes: readonly string[];
  readonly keyFiles: KeyFiles;
  readonly lifespans: { readonly accessMs: number; readonly codeMs: number; readonly refreshMs: number };
  /** Time in which a refresh token that was used gives the same successor again. */
  readonly refreshReuseWindowMs: number;
  readonly upstreams: readonly UpstreamProviderConfig[];
  /** Who names the users: changes where the first provider is another one, whatever it is called. */
  readonly namesOfUsers: string;
  /** Providers where users sign in once they need it, and not at each login. */
  readonly onDemand: ReadonlySet<string>;
  /** Where providers send browsers back to, unless they name another address. */
  readonly defaultRedirectUri: string;
  /** All addresses that providers send browsers back to. */
  readonly redirectUris: readonly string[];
  /** Name of this server, for people. */
  readonly name: string;
}

/** Undefined: there is no authorization server. */
export const authServerSettingsOf = ({
  name,
  authServer,
  incomingAuth,
  extensions,
}: Config): AuthServerSettings | undefined => {
  if (authServer === undefined) return undefined;
  const { issuer, authorizationEndpointBaseUrl, tokenLifespans, upstreamProviders } = authServer;
  const { oidc } = incomingAuth;
  const audience = oidc?.audience ?? issuer;
  const named = canonicalResource(oidc?.resource ?? audience);
  // RFC 8707 §2: a resource is an absolute URI.
  const resource = resourceUrlIn(named) ? named : issuer;
  const base = resource === named ? resource : (authorizationEndpointBaseUrl ?? issuer);
  const defaultRedirectUri = `${base.replace(/\/$/, '')}/oauth/callback`;
  const redirectUris = upstreamProviders.map(
    ({ oidcConfig, oauth2Config }) => oidcConfig?.redirectUri ?? oauth2Config?.redirectUri ?? defaultRedirectUri,
  );
  return {
    issuer,
    browserBase: authorizationEndpointBaseUrl ?? issuer,
    resource,
    resourceForms: [...new Set([resource, named, audience].flatMap(audienceForms))],
    audience,
    scopesSupported: supportedScopes({ authServer, incomingAuth }),
    baselineScopes: authServer.baselineClientScopes ?? [],
    keyFiles: { signing: authServer.signingKeyFiles ?? [], hmac: authServer.hmacFiles ?? [] },
    lifespans: {
      accessMs: tokenLifespans.accessTokenLifespan,
      codeMs: tokenLifespans.authCodeLifespan,
      refreshMs: tokenLifespans.refreshTokenLifespan,
    },
    refreshReuseWindowMs: extensions.authServer.refreshReuseWindow,
    upstreams: upstreamProviders,
    namesOfUsers: namesOfUsers(upstreamProviders[0]),
    onDemand: onDemandIn(extensions.authServer.upstreams),
    defaultRedirectUri,
    redirectUris,
    name,
  };
};

const onDemandIn = (upstreams: Config['extensions']['authServer']['upstreams']): ReadonlySet<string> =>
  new Set(Object.entries(upstreams).flatMap(([name, { signIn }]) => (signIn === 'onDemand' ? [name] : [])));

/** Where a provider's subjects come from: one subject of two such places is two people. */
const namesOfUsers = ({ oidcConfig, oauth2Config }: Partial<UpstreamProviderConfig> = {}): string => {
  const { endpointUrl, fieldMapping } = oidcConfig?.userInfoOverride ?? oauth2Config?.userInfo ?? {};
  const issuer = oidcConfig?.issuerUrl ?? oauth2Config?.dcrConfig?.discoveryUrl ?? oauth2Config?.tokenEndpoint;
  const { subjectPath } = oauth2Config?.identityFromToken ?? {};
  return JSON.stringify([issuer, subjectPath ?? [endpointUrl, fieldMapping?.subjectFields]]);
};

/** What is kept of users is for this issuer and this first provider; for others it is nothing. */
export const boundTo = ({ issuer, namesOfUsers: names }: Pick<AuthServerSettings, 'issuer' | 'namesOfUsers'>): string =>
  JSON.stringify([issuer, names]);

/** Sentinels answer here unless they say otherwise (redis.io "High availability with Redis Sentinel"). */
const serviceAddress = ({
  name,
  namespace,
  port,
}: {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly port: number;
}): string => `${name}${namespace === undefined ? '' : `.${namespace}.svc`}:${port}`;

/** Servers that share a Redis are told apart by their issuers. */
const PREFIX_CHARACTERS = 16;

/** Where the authorization server keeps what lasts: never in the store of the sessions. */
export const authStoreSettingsOf = ({ authServer }: Config): StoreSettings => {
  const { kvstore } = authServer?.storage ?? {};
  if (!authServer || !kvstore) return { kind: 'memory' };
  const { aclUserConfig, addr, sentinelConfig: sentinel, dialTimeout, readTimeout, writeTimeout } = kvstore;
  const { sentinelAddrs, sentinelService } = sentinel ?? {};
  const sentinels = sentinelAddrs ?? (sentinelService ? [serviceAddress(sentinelService)] : []);
  const { usernameFile } = aclUserConfig;
  return {
    kind: 'redis',
    addresses: addr === undefined ? sentinels : [addr],
    db: sentinel?.db ?? 0,
    keyPrefix: `vmcp:auth:${hash('sha256', authServer.issuer, 'base64url').slice(0, PREFIX_CHARACTERS)}:`,
    username: usernameFile === undefined ? undefined : { file: usernameFile },
    password: { file: aclUserConfig.passwordFile },
    tls: kvstore.tls && tlsOf(kvstore.tls),
    sentinel: sentinel && {
      masterName: sentinel.masterName,
      tls: kvstore.sentinelTls && tlsOf(kvstore.sentinelTls),
    },
    isCluster: kvstore.clusterMode ?? false,
    times: { connectMs: dialTimeout, commandMs: readTimeout, writeMs: writeTimeout },
  };
};

const tlsOf = ({
  caCertFile,
  insecureSkipVerify = false,
}: {
  readonly caCertFile?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
}) => ({ caFile: caCertFile, insecureSkipVerify });
