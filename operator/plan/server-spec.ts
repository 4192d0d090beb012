import type { BackendsInput } from '../../runtime/config/render.ts';
import { type SpecOf, specOf } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';

/** `spec` of a VirtualMCPServer, and what a kind that is served the same way asks for, in these words. */
export type ServerSpec = SpecOf<'VirtualMCPServer'> & {
  /** Of container `vmcp`, in place of the defaults. */
  readonly resources?: SpecOf<'MCPRemoteProxy'>['resources'] & {};
  /** It stands in front of one backend: what an MCPRemoteProxy or an MCPServer asks for. */
  readonly isFront?: true;
  /** It checks no tokens, and passes on the credential that another runtime sends along. */
  readonly relaysCredentials?: true;
};

/** `spec.config`. */
export type ServerConfig = NonNullable<ServerSpec['config']>;
export type OidcConfigRef = NonNullable<ServerSpec['incomingAuth']['oidcConfigRef']>;
export type AuthzConfig = NonNullable<ServerSpec['incomingAuth']['authzConfig']>;
export type EmbeddedAuthServer = NonNullable<ServerSpec['authServerConfig']>;
export type BackendAuthRule = NonNullable<NonNullable<ServerSpec['outgoingAuth']>['default']>;
export type SessionStorage = NonNullable<ServerSpec['sessionStorage']>;
/** What users add to the metadata of their Service. */
export type ServiceMetadata = NonNullable<NonNullable<ServerConfig['extensions']>['service']>;

/** One backend as both config files spell it. */
export type BackendConfigEntry = NonNullable<BackendsInput['backends']>[number];

/** Headers that every request to a backend carries, values or the files that hold them by name. */
export type HeaderForward = NonNullable<BackendConfigEntry['headerForward']>;

/** `outgoingAuth.backends`, by backend name. */
export type Strategies = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** `backends.yaml`. */
export interface FoundBackends {
  readonly backends?: readonly BackendConfigEntry[];
  readonly outgoingAuth?: { readonly backends: Strategies };
  /** Not contacted, and down for `partialFailureMode`. */
  readonly withheld: NonNullable<BackendsInput['withheld']>;
}

export const serverSpec = (server: KubeObject): ServerSpec => specOf('VirtualMCPServer', server);

/** As `spec.config` spells it: a password never enters a ConfigMap. */
export const withoutPassword = ({ passwordRef: _secret, ...rest }: SessionStorage): SessionStorage => rest;

/**
 * `source` defaults to `discovered`; `spec.outgoingAuth` wins over `config.outgoingAuth`: docs/decisions.md "Spec
 * before config"
 */
export const sourceOf = ({ outgoingAuth, config }: ServerSpec): 'discovered' | 'inline' =>
  outgoingAuth === undefined ? (config?.outgoingAuth?.source ?? 'discovered') : (outgoingAuth.source ?? 'discovered');

/** docs/decisions.md "Pull secrets": of pods and of the account that is made for them. */
export const imagePullSecrets = ({
  imagePullSecrets: secrets = [],
}: ServerSpec): Pick<ServerSpec, 'imagePullSecrets'> => (secrets.length === 0 ? {} : { imagePullSecrets: secrets });

/** The secret that holds the password; a store in memory needs none. */
export const passwordOf = ({ sessionStorage }: ServerSpec): SessionStorage['passwordRef'] =>
  sessionStorage?.provider === 'kvstore' ? sessionStorage.passwordRef : undefined;
