import type { KubeObject } from '../../object.ts';
import { type ResolvedReference, howToMend } from '../references.ts';
import { type BackendAuthRule, type ServerSpec, sourceOf } from './spec.ts';

/** The MCPExternalAuthConfig that says how a backend is authenticated to. */
export interface BackendAuth {
  readonly configName: string;
  /** `spec.type` of the config; absent when it cannot be used. */
  readonly type?: string;
  readonly problem?: AuthProblem;
}

export interface AuthProblem {
  readonly reason: 'AuthConfigNotFound' | 'AuthConfigInvalid';
  readonly message: string;
}

/** MCPExternalAuthConfigs by name, as resolved for the server and for the members of its group. */
export type AuthConfigs = readonly ResolvedReference[];

/** How a member is authenticated to; undefined: without credentials. */
export const backendAuth = (member: KubeObject, spec: ServerSpec, configs: AuthConfigs): BackendAuth | undefined => {
  const configName = configNameFor(member, spec);
  if (configName === undefined) return undefined;
  const reference = configs.find(({ kind, name }) => kind === KIND && name === configName);
  if (reference?.target === undefined) return { configName, problem: unusable(configName, reference) };
  const { type } = reference.target['spec'] as { readonly type: string };
  return type === 'embeddedAuthServer' ? { configName, type, problem: ownClients(configName) } : { configName, type };
};

const KIND = 'MCPExternalAuthConfig';

/** Decisions "Outgoing auth precedence": explicit entry > discovered > default. */
const configNameFor = (member: KubeObject, spec: ServerSpec): string | undefined => {
  const own = (member['spec'] as { readonly externalAuthConfigRef?: Named }).externalAuthConfigRef?.name;
  const { backends, default: otherwise } = spec.outgoingAuth ?? {};
  const named = (rule: BackendAuthRule): string | undefined =>
    rule.type === 'discovered' ? own : rule.externalAuthConfigRef?.name;
  const explicit =
    backends !== undefined && Object.hasOwn(backends, member.metadata.name)
      ? backends[member.metadata.name]
      : undefined;
  if (explicit !== undefined) return named(explicit);
  if (sourceOf(spec) === 'discovered' && own !== undefined) return own;
  return otherwise && named(otherwise);
};

interface Named {
  readonly name: string;
}

const unusable = (configName: string, reference: ResolvedReference | undefined): AuthProblem => {
  const { invalid } = reference ?? {};
  const missing = { kind: KIND, name: configName, path: 'spec.externalAuthConfigRef', target: undefined };
  return {
    reason: invalid === undefined ? 'AuthConfigNotFound' : 'AuthConfigInvalid',
    message: howToMend(reference ?? missing),
  };
};

/** Decisions "Where the spec can be read two ways": such a backend fails closed. */
const ownClients = (configName: string): AuthProblem => ({
  reason: 'AuthConfigInvalid',
  message: `${KIND} ${configName} cannot be used: type embeddedAuthServer is for the clients of an MCPServer or MCPRemoteProxy; name a config of another type`,
});
