import { isDeepStrictEqual } from 'node:util';
import { parseResource } from '../../../crds/index.ts';
import { compareText } from '../../../runtime/compare-text.ts';
import type { KubeObject } from '../../object.ts';
import { canonicalJson } from '../canonical.ts';
import type { ConfigFiles } from '../plan.ts';
import { labelsOfChild } from '../workload/child.ts';
import type { CaBundle } from './mounted-files.ts';
import { childName, servedChild } from './names.ts';
import { mountedConfigMap } from './pod-template.ts';
import type { WrittenSpec } from './spec.ts';

/** The last spec that was valid, had every reference and was applied, with the files it is served from. */
export interface Accepted {
  readonly generation?: number;
  readonly written: WrittenSpec;
  readonly files: ConfigFiles;
  /** Where its certificates lie: the files only say where they are mounted, and what named them may be lost. */
  readonly caBundles?: readonly CaBundle[];
}

/** Key of the ConfigMap that holds it; pods do not see it. */
export const ACCEPTED_KEY = 'accepted.json';

export const acceptedText = ({ generation, written: spec, caBundles = [] }: Omit<Accepted, 'files'>): string =>
  `${canonicalJson({ generation, spec, ...(caBundles.length > 0 && { caBundles }) })}\n`;

/** Where the accepted spec of a server may lie. */
export interface AcceptedPlaces {
  readonly server: KubeObject;
  readonly configMaps: readonly KubeObject[];
  readonly deployment: KubeObject | undefined;
  readonly replicaSets: readonly KubeObject[];
}

/**
 * Decisions "Last good spec": kept in the ConfigMap that the Deployment's template names; if that one is lost, in the
 * newest other one of the server, those that a ReplicaSet names first.
 */
export const acceptedIn = ({ server, configMaps, deployment, replicaSets }: AcceptedPlaces): Accepted | undefined => {
  const current = deployment === undefined ? undefined : mountedConfigMap(deployment);
  const named = new Set(replicaSets.map(mountedConfigMap));
  const rank = ({ metadata: { name } }: KubeObject): number => (name === current ? 0 : named.has(name) ? 1 : 2);
  const candidates = configMaps
    .filter((each) => isMadeFor(each, server))
    .sort((a, b) => rank(a) - rank(b) || compareText(createdAt(b), createdAt(a)));
  for (const candidate of candidates) {
    const accepted = acceptedOf(candidate, server);
    if (accepted !== undefined) return accepted;
  }
  return undefined;
};

/** An owner reference alone is written by anybody who may write ConfigMaps. */
const isMadeFor = ({ metadata }: KubeObject, server: KubeObject): boolean =>
  metadata.name.startsWith(`${childName(server)}-`) &&
  /^[0-9a-f]{10}$/.test(metadata.name.slice(childName(server).length + 1)) &&
  Object.entries(labelsOfChild(servedChild(server))).every(([key, value]) => metadata.labels?.[key] === value);

const createdAt = (object: KubeObject): string => object.metadata.creationTimestamp ?? '';

/** Undefined when somebody edited it: the next candidate counts. */
const acceptedOf = (configMap: KubeObject, server: KubeObject): Accepted | undefined => {
  const { [ACCEPTED_KEY]: text, ...files } = (configMap['data'] ?? {}) as ConfigFiles;
  const { generation, spec, caBundles } = parsed(text);
  if (!isSpec(spec, server)) return undefined;
  return {
    ...(typeof generation === 'number' && { generation }),
    ...(Array.isArray(caBundles) && { caBundles: caBundles.filter(isCaBundle) }),
    written: spec,
    files,
  };
};

const isCaBundle = (value: unknown): value is CaBundle => {
  const { owner, configMap } = (value ?? {}) as Partial<CaBundle>;
  return [owner, configMap?.name, configMap?.key].every((each) => typeof each === 'string');
};

const parsed = (text: string | undefined): Partial<Record<'generation' | 'spec' | 'caBundles', unknown>> => {
  try {
    return (JSON.parse(text ?? '') ?? {}) as object;
  } catch {
    return {};
  }
};

/**
 * What the API server would take; the spec that it has taken needs no second look. One with fields of a newer release is what was accepted,
 * too: to serve an older one in its place would be worse than to leave the pods alone.
 */
const isSpec = (spec: unknown, server: KubeObject): spec is WrittenSpec => {
  if (isDeepStrictEqual(spec, server['spec'])) return true;
  const parsed = parseResource({ ...server, spec });
  return parsed.ok || parsed.problems.every(({ isUnknownField }) => isUnknownField === true);
};
