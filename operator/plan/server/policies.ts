import { parse } from 'yaml';
import * as z from 'zod';
import { providerNameSchema } from '../../../runtime/config/index.ts';
import type { KubeObject } from '../../object.ts';
import type { Refusal } from '../contract.ts';
import type { ResolvedReference } from '../references.ts';
import type { AuthzConfig, ServerSpec } from './spec.ts';

/** Who may call what, wherever it is written. */
export interface Policies {
  readonly policies: readonly string[];
  readonly entitiesJson?: string;
  readonly primaryUpstreamProvider?: string;
}

/** `authz.json` (decisions "Where the spec can be read two ways"). */
const documentSchema = z.strictObject({
  version: z.literal('1.0'),
  type: z.literal('cedarv1'),
  cedar: z.strictObject({
    policies: z.array(z.string()).min(1),
    entities_json: z.string().optional(),
    primary_upstream_provider: z.union([z.literal(''), providerNameSchema]).optional(),
  }),
});

const PATH = 'spec.incomingAuth.authzConfig.configMap';
const DEFAULT_KEY = 'authz.json';

/** The ConfigMap that holds the policies, with its content or without; undefined when none is named or there. */
export const policyConfigMap = (references: readonly ResolvedReference[]): KubeObject | undefined =>
  references.find(({ path }) => path === PATH)?.target;

/** What is known of the policies; undefined while their ConfigMap is not there. */
export const policiesOf = (
  { inline, configMap }: AuthzConfig,
  references: readonly ResolvedReference[],
): Policies | Refusal | undefined => {
  if (inline !== undefined) return inline;
  const target = policyConfigMap(references);
  return target && readPolicies(target, configMap?.key ?? DEFAULT_KEY);
};

const readPolicies = (configMap: KubeObject, key: string): Policies | Refusal => {
  const text = (configMap['data'] as Readonly<Record<string, string>> | undefined)?.[key];
  if (text === undefined) return refusal(configMap, `it has no key ${key}; add it, or change ${PATH}.key`);
  if (text.length > MAX_TEXT) return refusal(configMap, `${key} is longer than ${MAX_TEXT} characters; shorten it`);
  const { data, error } = documentSchema.safeParse(valueOf(text));
  if (error) {
    const each = error.issues.map(({ path, message }) => `${[key, ...path].join('.')}: ${message}`);
    return refusal(
      configMap,
      `${each.join('; ')}; write {"version": "1.0", "type": "cedarv1", "cedar": {"policies": […]}}`,
    );
  }
  const { policies, entities_json: entitiesJson, primary_upstream_provider: primaryUpstreamProvider } = data.cedar;
  return {
    policies,
    ...(entitiesJson !== undefined && { entitiesJson }),
    ...(primaryUpstreamProvider !== undefined && { primaryUpstreamProvider }),
  };
};

/** JSON, or YAML where it is none: reading that takes so long that it has to be short. */
const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text.length > MAX_YAML ? undefined : yamlIn(text);
  }
};

const yamlIn = (text: string): unknown => {
  try {
    return parse(text, { maxAliasCount: 0, uniqueKeys: false });
  } catch {
    return undefined;
  }
};

/** Characters. Whoever may write a ConfigMap makes the operator of everybody read it. */
const MAX_TEXT = 256 * 1024;
const MAX_YAML = 32 * 1024;

const refusal = ({ metadata }: KubeObject, why: string): Refusal => ({
  reason: 'Invalid',
  message: `${PATH}: ConfigMap ${metadata.name} cannot be used: ${why}`,
});

export const isRefusal = (found: Policies | Refusal): found is Refusal => 'reason' in found;

/** What speaks against serving with these policies; a ConfigMap that is not there is told of by its reference. */
export const policyRefusals = (
  { incomingAuth: { type, authzConfig } }: ServerSpec,
  references: readonly ResolvedReference[],
  upstreams: readonly string[],
): readonly Refusal[] => {
  if (type === 'anonymous' || authzConfig === undefined) return [];
  const found = policiesOf(authzConfig, references);
  if (found === undefined) return [];
  if (isRefusal(found)) return [found];
  const target = policyConfigMap(references);
  const { primaryUpstreamProvider = '' } = found;
  if (target === undefined || primaryUpstreamProvider === '' || upstreams.includes(primaryUpstreamProvider)) return [];
  const remedy = upstreams.length === 0 ? 'set spec.authServerConfig' : `name one of ${upstreams.join(', ')}`;
  return [refusal(target, `no upstream provider is called ${primaryUpstreamProvider}; ${remedy}`)];
};
