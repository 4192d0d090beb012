import type { KubeObject } from '../../../object.ts';
import { type BackendAuthRule, type ServerSpec, sourceOf } from '../../server-spec.ts';
import { memberSpec } from './contact-fields.ts';
import { type BackendAuth, type BackendAuthInput, authNamed } from './named-auth.ts';
import { isTheProxy, throughProxy } from './proxy-auth.ts';

/** A backend before it is known whether it may be contacted. */
export interface ContactedBackend {
  readonly name: string;
  /** Where it is contacted; undefined where nothing answers. */
  readonly url: string | undefined;
  /** Undefined for an entry of `config.backends` that no member of the group has the name of. */
  readonly member: KubeObject | undefined;
}

/** How a backend is authenticated to; undefined: without credentials. */
export const backendAuth = (backend: ContactedBackend, input: BackendAuthInput): BackendAuth | undefined => {
  const { name, url, member } = backend;
  const { spec, settings } = input;
  // docs/decisions.md "Outgoing authentication"
  const said = spec.outgoingAuth === undefined ? spec.config?.outgoingAuth?.backends : undefined;
  if (said !== undefined && Object.hasOwn(said, name)) return undefined;
  const own = member && memberSpec(member).externalAuthConfigRef?.name;
  const chosen = configFor(name, own, spec);
  if (chosen === undefined) return undefined;
  return chosen.isOwn && member !== undefined && isTheProxy(member, url, settings)
    ? throughProxy(chosen.configName, member, input)
    : authNamed(chosen.configName, input);
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

interface Chosen {
  readonly configName: string;
  /** The backend's own resource names it. */
  readonly isOwn: boolean;
}

/** Explicit entry > discovered > default: docs/decisions.md "Outgoing authentication" */
const configFor = (name: string, own: string | undefined, spec: ServerSpec): Chosen | undefined => {
  const { backends, default: otherwise } = spec.outgoingAuth ?? {};
  const discovered = own === undefined ? undefined : { configName: own, isOwn: true };
  const named = (rule: BackendAuthRule): Chosen | undefined => {
    if (rule.type === 'discovered') return discovered;
    const { name: configName } = rule.externalAuthConfigRef ?? {};
    return configName === undefined ? undefined : { configName, isOwn: false };
  };
  const explicit = backends !== undefined && Object.hasOwn(backends, name) ? backends[name] : undefined;
  if (explicit !== undefined) return named(explicit);
  if (sourceOf(spec) === 'discovered' && discovered !== undefined) return discovered;
  return otherwise && named(otherwise);
};
