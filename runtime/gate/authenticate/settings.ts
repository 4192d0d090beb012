import type { JSONWebKeySet } from 'jose';
import { audienceForms, type Config } from '../../config/index.ts';
import type { SecretSource } from '../../process/index.ts';

/** What an issuer is, and where its keys come from. */
export interface KeySettings {
  /** Compared with `iss` character by character. */
  readonly issuer: string;
  /** Keys that are used as they are: nothing is fetched from the issuer. */
  readonly issuerKeys: JSONWebKeySet | undefined;
  /** Address of the keys; undefined: found by discovery. */
  readonly jwksUrl: string | undefined;
  readonly jwksAllowPrivateIp: boolean;
  readonly insecureAllowHttp: boolean;
  readonly caBundlePath: string | undefined;
}

/** How the tokens of one issuer are checked. */
export interface IssuerSettings extends KeySettings {
  /** Texts that stand for the audience: a token has to hold one of them. */
  readonly audiences: readonly string[];
  /** Scopes that every token must have. */
  readonly scopes: readonly string[];
  /** Claim as it is used here → claim of the token that it is taken from. */
  readonly claimMapping: Readonly<Record<string, string>>;
  /** Absent: opaque tokens are refused. */
  readonly introspection: IntrospectionSettings | undefined;
}

/** How opaque tokens are checked (RFC 7662). */
export interface IntrospectionSettings {
  /** Undefined: found by discovery. */
  readonly url: string | undefined;
  readonly clientId: string;
  /** Undefined: the client has none. */
  readonly clientSecret: SecretSource | undefined;
}

/** Who may connect. */
export type AuthenticationSettings =
  | { readonly kind: 'anonymous' }
  /** Credentials for the backends come with the requests, and are not verified here. */
  | { readonly kind: 'relayed' }
  | { readonly kind: 'local' }
  | TokenSettings;

export interface TokenSettings {
  readonly kind: 'tokens';
  /** The first one is asked about opaque tokens. */
  readonly issuers: readonly IssuerSettings[];
}

/** What clients are told of this server as a protected resource. */
export interface ResourceSettings extends Pick<TokenSettings, 'issuers'> {
  /** The resource indicator (RFC 8707) of this server, as it is configured. */
  readonly resource: string;
  readonly advertisedScopes: readonly string[];
  /** Name of this server, for people. */
  readonly name: string;
}

/** What the configuration says of incoming authentication. */
export const authenticationSettingsOf = (config: Config): AuthenticationSettings => {
  const { type, oidc, relaysCredentials } = config.incomingAuth;
  if (type === 'anonymous') return { kind: relaysCredentials ? 'relayed' : 'anonymous' };
  // The schema asks for `oidc` where the type is `oidc`.
  if (type === 'local' || oidc === undefined) return { kind: 'local' };
  return { kind: 'tokens', issuers: issuersOf(oidc, config) };
};

/** Undefined: no tokens are taken. */
export const resourceSettingsOf = (config: Config): ResourceSettings | undefined => {
  const { name, incomingAuth } = config;
  const { type, oidc } = incomingAuth;
  if (type !== 'oidc' || oidc === undefined) return undefined;
  return {
    issuers: issuersOf(oidc, config),
    resource: oidc.resource ?? oidc.audience,
    advertisedScopes: oidc.advertisedScopes ?? [],
    name,
  };
};

const issuersOf = (oidc: Oidc, { extensions }: Config): readonly IssuerSettings[] => [
  { ...issuerOf(oidc), claimMapping: {}, introspection: introspectionOf(oidc) },
  ...extensions.issuers.map((each) => ({
    ...issuerOf({ ...each, audience: each.audience ?? oidc.audience }),
    claimMapping: each.claimMapping,
    introspection: undefined,
  })),
];

type Oidc = NonNullable<Config['incomingAuth']['oidc']>;
type FurtherIssuer = Config['extensions']['issuers'][number] & { readonly audience: string };

const issuerOf = (written: Oidc | FurtherIssuer): Omit<IssuerSettings, 'claimMapping' | 'introspection'> => ({
  issuer: written.issuer,
  audiences: audienceForms(written.audience),
  issuerKeys: written.issuerKeys as JSONWebKeySet | undefined,
  jwksUrl: written.jwksUrl,
  jwksAllowPrivateIp: written.jwksAllowPrivateIp ?? false,
  insecureAllowHttp: written.insecureAllowHttp ?? false,
  caBundlePath: written.caBundlePath,
  scopes: written.scopes ?? [],
});

const introspectionOf = (oidc: Oidc): IntrospectionSettings | undefined => {
  const { introspectionUrl: url, clientId, clientSecretFile: file, clientSecretEnv: environment } = oidc;
  const hasSecret = file !== undefined || environment !== undefined;
  // With fixed keys the issuer is never contacted, unless an address is given.
  if (url === undefined && (!hasSecret || oidc.issuerKeys !== undefined)) return undefined;
  return { url, clientId, clientSecret: hasSecret ? { file, environment } : undefined };
};
