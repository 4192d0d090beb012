import type { KubeObject } from '../../../object.ts';
import { type ResolvedReference, unresolvedText } from '../../references.ts';
import { type BackendAuthRule, type ServerSpec, sourceOf } from '../../server-spec.ts';
import { upstreamsOf } from './auth-server.ts';
import { contactFields } from './contact-fields.ts';
import { type ExternalAuth, type StrategyInput, externalAuth, providerOf, strategyOf } from './strategy.ts';

/** The MCPExternalAuthConfig that says how a backend is authenticated to. */
export interface BackendAuth {
  readonly configName: string;
  /** `spec.type` of the config; absent when it cannot be used. */
  readonly type?: string;
  readonly problem?: AuthProblem;
  /** As the runtime's file spells it; absent when there is a problem. */
  readonly strategy?: Readonly<Record<string, unknown>>;
}

/** Why a backend has no strategy. */
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

/**
 * How a backend is authenticated to; undefined: without credentials. `member` is undefined for an entry of
 * `config.backends` that no member of the group has the name of.
 */
export const backendAuth = (
  name: string,
  member: KubeObject | undefined,
  input: BackendAuthInput,
): BackendAuth | undefined => {
  const { spec } = input;
  // docs/decisions.md "Outgoing authentication"
  const said = spec.outgoingAuth === undefined ? spec.config?.outgoingAuth?.backends : undefined;
  if (said !== undefined && Object.hasOwn(said, name)) return undefined;
  const configName = configNameFor(name, member, input);
  return configName === undefined ? undefined : authNamed(configName, input);
};

/**
 * Type of the strategy that `config.outgoingAuth` has for a backend of which no MCPExternalAuthConfig says anything, as
 * it is written there. It is used without `spec.outgoingAuth`: docs/decisions.md "Outgoing authentication"
 */
export const typeInConfig = (name: string, { outgoingAuth, config }: ServerSpec): string | undefined => {
  if (outgoingAuth !== undefined) return undefined;
  const { backends = {}, default: otherwise } = config?.outgoingAuth ?? {};
  return (Object.hasOwn(backends, name) ? backends[name] : otherwise)?.type;
};

/** What an MCPExternalAuthConfig says of one backend. */
export const authNamed = (
  configName: string,
  { spec, authConfigs: configs, settings }: BackendAuthInput,
): BackendAuth => {
  const reference = configs.find(({ kind, name }) => kind === KIND && name === configName);
  if (reference?.target === undefined) return { configName, problem: unusable(configName, reference) };
  const auth = externalAuth(reference.target);
  const { type } = auth;
  const upstreams = upstreamsOf(spec);
  const problem = missingUpstreamProvider(configName, auth, spec);
  if (problem !== undefined) return { configName, type, problem };
  const strategy = strategyOf(auth, { settings, upstreams });
  return strategy === undefined
    ? { configName, type, problem: ownClients(configName, type) }
    : { configName, type, strategy };
};

/**
 * `upstreamInject` and `subjectProviderName` name an entry of `upstreamProviders`: docs/resources.md
 * "MCPExternalAuthConfig"
 */
const missingUpstreamProvider = (configName: string, auth: ExternalAuth, spec: ServerSpec): AuthProblem | undefined => {
  const upstreams = upstreamsOf(spec);
  const provider = providerOf(auth);
  if (provider === undefined || provider === '' || upstreams.includes(provider)) return undefined;
  const remedy =
    upstreams.length === 0
      ? `set ${spec.isFront === true ? 'spec.authServerRef' : 'spec.authServerConfig of the server'}`
      : `name one of ${upstreams.join(', ')}`;
  return {
    reason: 'AuthConfigInvalid',
    message: `${KIND} ${configName} cannot be used: the server has no upstream provider ${provider}; ${remedy}`,
  };
};

const KIND = 'MCPExternalAuthConfig';

/** Explicit entry > discovered > default: docs/decisions.md "Outgoing authentication" */
const configNameFor = (
  name: string,
  member: KubeObject | undefined,
  { spec, settings }: BackendAuthInput,
): string | undefined => {
  const own = member && contactFields(member, settings).externalAuthConfigRef?.name;
  const { backends, default: otherwise } = spec.outgoingAuth ?? {};
  const named = (rule: BackendAuthRule): string | undefined =>
    rule.type === 'discovered' ? own : rule.externalAuthConfigRef?.name;
  const explicit = backends !== undefined && Object.hasOwn(backends, name) ? backends[name] : undefined;
  if (explicit !== undefined) return named(explicit);
  if (sourceOf(spec) === 'discovered' && own !== undefined) return own;
  return otherwise && named(otherwise);
};

const unusable = (configName: string, reference: ResolvedReference | undefined): AuthProblem => {
  const { invalid } = reference ?? {};
  const missing = { kind: KIND, name: configName, path: 'spec.externalAuthConfigRef', target: undefined };
  return {
    reason: invalid === undefined ? 'AuthConfigNotFound' : 'AuthConfigInvalid',
    message: unresolvedText(reference ?? missing),
  };
};

/** Such a backend fails closed: docs/decisions.md "Outgoing authentication" */
const ownClients = (configName: string, type: string): AuthProblem => ({
  reason: 'AuthConfigInvalid',
  message: `${KIND} ${configName} cannot be used: type ${type} is for the clients of an MCPServer or MCPRemoteProxy; name a config of another type`,
});
