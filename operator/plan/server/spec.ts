import type { KubeObject } from '../../object.ts';

/**
 * The fields of a VirtualMCPServer that `plan` acts on. The API server, or `parseResource` for a directory, has checked the
 * whole object against the schema and filled defaults, so this view casts once instead of parsing again.
 */
export interface ServerSpec {
  readonly groupRef: { readonly name: string };
  readonly incomingAuth: {
    readonly type: 'anonymous' | 'oidc';
    readonly authzConfig?: AuthzConfig;
    readonly oidcConfigRef?: OidcConfigRef;
  };
  readonly outgoingAuth?: {
    readonly source?: 'discovered' | 'inline';
    readonly default?: BackendAuthRule;
    readonly backends?: Readonly<Record<string, BackendAuthRule>>;
  };
  readonly authServerConfig?: EmbeddedAuthServer;
  readonly telemetryConfigRef?: { readonly name: string; readonly serviceName?: string };
  readonly config?: ServerConfig;
  readonly embeddingServerRef?: { readonly name: string };
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  /** Free-form: a strategic merge patch over the pod template that is made. */
  readonly podTemplateSpec?: Readonly<Record<string, unknown>>;
  readonly replicas?: number;
  /** Of container `vmcp`, in place of the defaults. */
  readonly resources?: Readonly<Record<string, unknown>>;
  readonly serviceAccount?: string;
  readonly serviceType?: string;
  readonly sessionAffinity?: string;
  readonly sessionStorage?: SessionStorage;
  /** It stands in front of one backend: what an MCPRemoteProxy asks for, in these words. */
  readonly isFront?: true;
}

export interface OidcConfigRef {
  readonly name: string;
  readonly audience: string;
  readonly resourceUrl?: string;
  readonly scopes?: readonly string[];
}

/** Exactly one of the two. */
export interface AuthzConfig {
  readonly configMap?: { readonly name: string; readonly key?: string };
  readonly inline?: {
    readonly policies: readonly string[];
    readonly entitiesJson?: string;
    readonly primaryUpstreamProvider?: string;
  };
}

/** What of it `plan` looks into; the rest is passed on. */
export interface EmbeddedAuthServer {
  readonly issuer: string;
  readonly storage?: {
    readonly type?: 'memory' | 'kvstore';
    readonly kvstore?: { readonly sentinelConfig?: { readonly sentinelService?: { readonly namespace?: string } } };
  };
  readonly upstreamProviders: readonly { readonly name: string }[];
}

export interface BackendAuthRule {
  readonly type: 'discovered' | 'externalAuthConfigRef';
  readonly externalAuthConfigRef?: { readonly name: string };
}

export interface SessionStorage {
  readonly provider: 'memory' | 'kvstore';
  readonly address?: string;
  readonly keyPrefix?: string;
  readonly passwordRef?: SecretRef;
}

export interface SecretRef {
  readonly name: string;
  readonly key: string;
}

/** `spec.config`; keys that `plan` only passes on are not named. */
export interface ServerConfig {
  readonly name?: string;
  readonly backends?: readonly BackendConfigEntry[];
  readonly outgoingAuth?: {
    readonly source?: 'discovered' | 'inline';
    readonly default?: WrittenStrategy;
    readonly backends?: Readonly<Record<string, WrittenStrategy>>;
  };
  readonly optimizer?: { readonly embeddingService?: string; readonly [key: string]: unknown };
  readonly sessionStorage?: SessionStorage;
  readonly extensions?: {
    readonly allowedHosts?: readonly string[];
    readonly sessionStore?: Readonly<Record<string, unknown>>;
    readonly service?: ServiceMetadata;
  };
  readonly [key: string]: unknown;
}

/** What users add to the metadata of their Service. */
export interface ServiceMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** What of a strategy `plan` looks into; the rest is passed on. */
export interface WrittenStrategy {
  readonly type: string;
}

/** One backend as both config files spell it. */
export interface BackendConfigEntry {
  readonly name: string;
  readonly url: string;
  readonly transport: 'sse' | 'streamable-http';
  readonly type?: 'entry' | '';
  readonly caBundlePath?: string;
  readonly headerForward?: HeaderForward;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Headers that every request to a backend carries, values or the files that hold them by name. */
export interface HeaderForward {
  readonly plaintext?: Readonly<Record<string, string>>;
  readonly secretFiles?: Readonly<Record<string, string>>;
}

/** `outgoingAuth.backends`, by backend name. */
export type Strategies = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** `backends.yaml`. */
export interface FoundBackends {
  readonly backends?: readonly BackendConfigEntry[];
  readonly outgoingAuth?: { readonly backends: Strategies };
  /** Not contacted, and down for `partialFailureMode`. */
  readonly withheld: readonly { readonly name: string; readonly message: string }[];
}

export const serverSpec = (server: KubeObject): ServerSpec => server['spec'] as ServerSpec;

/** As `spec.config` spells it: a password never enters a ConfigMap. */
export const withoutPassword = ({ passwordRef: _secret, ...rest }: SessionStorage): SessionStorage => rest;

/** spec: `outgoingAuth.source` defaults to `discovered`; `spec.outgoingAuth` wins over `config.outgoingAuth`. */
export const sourceOf = ({ outgoingAuth, config }: ServerSpec): 'discovered' | 'inline' =>
  outgoingAuth === undefined ? (config?.outgoingAuth?.source ?? 'discovered') : (outgoingAuth.source ?? 'discovered');

/** spec: imagePullSecrets, of pods and of the account that is made for them. */
export const imagePullSecrets = ({
  imagePullSecrets: secrets = [],
}: ServerSpec): Pick<ServerSpec, 'imagePullSecrets'> => (secrets.length === 0 ? {} : { imagePullSecrets: secrets });
