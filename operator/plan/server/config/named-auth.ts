import { type ResolvedReference, unresolvedText } from '../../references.ts';
import type { ServerSpec } from '../../server-spec.ts';
import { upstreamsOf } from './auth-server.ts';
import { type ExternalAuth, type StrategyInput, externalAuth, providerOf, strategyOf } from './strategy.ts';

/** The MCPExternalAuthConfig that says how a backend is authenticated to. */
export interface BackendAuth {
  readonly configName: string;
  /** `spec.type` of the config; absent when it cannot be used. */
  readonly type?: string;
  readonly problem?: AuthProblem;
  /** As the runtime's file spells it; absent when there is a problem. */
  readonly strategy?: Readonly<Record<string, unknown>>;
  /** The backend is a proxy that passes the credential on. */
  readonly isRelayed?: true;
}

export interface AuthProblem {
  readonly reason: 'AuthConfigNotFound' | 'AuthConfigInvalid';
  readonly message: string;
}

/** MCPExternalAuthConfigs by name, as resolved for the server and for the members of its group. */
export type AuthConfigs = readonly ResolvedReference[];

export interface BackendAuthInput {
  readonly spec: ServerSpec;
  readonly authConfigs: AuthConfigs;
  readonly settings: StrategyInput['settings'];
}

/** What an MCPExternalAuthConfig says of one backend. */
export const authNamed = (configName: string, { spec, authConfigs, settings }: BackendAuthInput): BackendAuth => {
  const { auth, problem } = configNamed(configName, authConfigs);
  if (auth === undefined) return { configName, problem };
  const { type } = auth;
  const missing = missingUpstreamProvider(configName, auth, spec);
  if (missing !== undefined) return { configName, type, problem: missing };
  const strategy = strategyOf(auth, { settings, upstreams: upstreamsOf(spec) });
  return strategy === undefined
    ? { configName, type, problem: ownClients(configName, type) }
    : { configName, type, strategy };
};

type NamedConfig =
  | { readonly auth: ExternalAuth; readonly problem?: undefined }
  | { readonly auth?: undefined; readonly problem: AuthProblem };

/** The config of the name, or why there is none to use. */
export const configNamed = (configName: string, authConfigs: AuthConfigs): NamedConfig => {
  const reference = authConfigs.find(({ kind, name }) => kind === KIND && name === configName);
  return reference?.target === undefined
    ? { problem: unusable(configName, reference) }
    : { auth: externalAuth(reference.target) };
};

/**
 * `upstreamInject` and `subjectProviderName` name an entry of `upstreamProviders`: docs/resources.md
 * "MCPExternalAuthConfig"
 */
export const missingUpstreamProvider = (
  configName: string,
  auth: ExternalAuth,
  spec: ServerSpec,
): AuthProblem | undefined => {
  const upstreams = upstreamsOf(spec);
  const provider = providerOf(auth);
  if (provider === undefined || provider === '' || upstreams.includes(provider)) return undefined;
  const remedy =
    upstreams.length === 0
      ? `set ${spec.isFront === true ? 'spec.authServerRef' : 'spec.authServerConfig of the server'}`
      : `name one of ${upstreams.join(', ')}`;
  return invalidConfig(configName, `the server has no upstream provider ${provider}; ${remedy}`);
};

const KIND = 'MCPExternalAuthConfig';

const unusable = (configName: string, reference: ResolvedReference | undefined): AuthProblem => {
  const { invalid } = reference ?? {};
  const missing = { kind: KIND, name: configName, path: 'spec.externalAuthConfigRef', target: undefined };
  return {
    reason: invalid === undefined ? 'AuthConfigNotFound' : 'AuthConfigInvalid',
    message: unresolvedText(reference ?? missing),
  };
};

/** Such a backend fails closed: docs/decisions.md "Outgoing authentication" */
const ownClients = (configName: string, type: string): AuthProblem =>
  invalidConfig(
    configName,
    `type ${type} is for the clients of an MCPServer or MCPRemoteProxy; name a config of another type`,
  );

export const invalidConfig = (configName: string, why: string): AuthProblem => ({
  reason: 'AuthConfigInvalid',
  message: `${KIND} ${configName} cannot be used: ${why}`,
});
