import { parse } from 'yaml';
import * as z from 'zod';
import { providerNameSchema } from '../../../../runtime/config/index.ts';
import { type PolicyProblem, policyProblems } from '../../../../runtime/gate/index.ts';
import type { KubeObject } from '../../../object.ts';
import type { Refusal } from '../../contract.ts';
import type { ResolvedReference } from '../../references.ts';
import type { AuthzConfig } from '../../server-spec.ts';

/** Who may call what, wherever it is written. */
export interface Policies {
  readonly policies: readonly string[];
  readonly entitiesJson?: string;
  /**
   * Honoured of `inline` policies alone (docs/decisions.md "Upstream provider for policies"); conditions tell of
   * another one.
   */
  readonly primaryUpstreamProvider?: string;
}

/** `authz.json`: docs/decisions.md "Policies in a ConfigMap" */
const documentSchema = z.strictObject({
  version: z.literal('1.0'),
  type: z.literal('cedarv1'),
  cedar: z.strictObject({
    policies: z.array(z.string()).min(1),
    entities_json: z.string().optional(),
    primary_upstream_provider: z.union([z.literal(''), providerNameSchema]).optional(),
  }),
});

const DEFAULT_KEY = 'authz.json';

/** The ConfigMap that holds the policies, with its content or without; undefined when none is named or there. */
export const policyConfigMap = (references: readonly ResolvedReference[]): KubeObject | undefined =>
  policyReference(references)?.target;

/** In whichever field of its kind. */
const policyReference = (references: readonly ResolvedReference[]): ResolvedReference | undefined =>
  references.find(({ path }) => path.endsWith('.authzConfig.configMap'));

/** What a server enforces, and what speaks against serving with it. */
export interface KnownPolicies {
  /** Absent while they are not known. */
  readonly policies?: Policies;
  readonly refusals: readonly Refusal[];
}

/** Where policies are, and which field says so. */
interface Place {
  readonly configMap: KubeObject;
  readonly path: string;
}

/** A ConfigMap that is not there is reported by the condition of its reference, and is no refusal. */
export const policiesOf = (
  { inline, configMap }: AuthzConfig,
  references: readonly ResolvedReference[],
): KnownPolicies => {
  if (inline !== undefined) return { policies: inline, refusals: [] };
  const { target, path = '' } = policyReference(references) ?? {};
  if (target === undefined) return { refusals: [] };
  const place = { configMap: target, path };
  const found = readPolicies(place, configMap?.key ?? DEFAULT_KEY);
  return 'reason' in found ? { refusals: [found] } : { policies: found, refusals: [] };
};

const readPolicies = (place: Place, key: string): Policies | Refusal => {
  const text = (place.configMap['data'] as Readonly<Record<string, string>> | undefined)?.[key];
  if (text === undefined) return refusal(place, `it has no key ${key}; add it, or change ${place.path}.key`);
  if (text.length > MAX_POLICIES) return refusal(place, `${key} is longer than ${MAX_POLICIES} characters; shorten it`);
  const { data, error } = documentSchema.safeParse(valueOf(text));
  if (error) {
    const each = error.issues.map(({ path, message }) => `${[key, ...path].join('.')}: ${message}`);
    return refusal(
      place,
      `${each.join('; ')}; write {"version": "1.0", "type": "cedarv1", "cedar": {"policies": […]}}`,
    );
  }
  const { policies, entities_json: entitiesJson, primary_upstream_provider: primaryUpstreamProvider } = data.cedar;
  const wrong = policyProblems({ policies, entitiesJson });
  if (wrong.length > 0) return refusal(place, wrong.map((each) => problemIn(key, each)).join('; '));
  return {
    policies,
    ...(entitiesJson !== undefined && { entitiesJson }),
    ...(primaryUpstreamProvider !== undefined && { primaryUpstreamProvider }),
  };
};

/** In the words of the document, whose keys are others than those of the file. */
const problemIn = (key: string, { path, reason, remedy }: PolicyProblem): string => {
  const [first, ...rest] = path;
  const within = rest.map((each) => `[${each}]`).join('');
  return `${key}.cedar.${first === 'entitiesJson' ? 'entities_json' : first}${within}: ${reason}; ${remedy}`;
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

/** Characters. A user who may write a ConfigMap makes the operator of all tenants read it. */
export const MAX_POLICIES = 256 * 1024;
const MAX_YAML = 32 * 1024;

const refusal = ({ configMap, path }: Place, why: string): Refusal => ({
  reason: 'Invalid',
  message: `${path}: ConfigMap ${configMap.metadata.name} cannot be used: ${why}`,
});
