import type { KubeObject } from '../../object.ts';
import { canonicalJson } from '../canonical.ts';
import type { ConfigFiles } from '../plan.ts';
import { mountedConfigMap } from './pod-template.ts';
import type { ServerSpec } from './spec.ts';

/** The last spec that was valid, had every reference and was applied, with the files it is served from. */
export interface Accepted {
  readonly generation?: number;
  readonly spec: ServerSpec;
  readonly files: ConfigFiles;
}

/** Key of the ConfigMap that holds it; pods do not see it. */
export const ACCEPTED_KEY = 'accepted.json';

export const acceptedText = (spec: ServerSpec, generation: number | undefined): string =>
  `${canonicalJson({ ...(generation !== undefined && { generation }), spec })}\n`;

/**
 * Decisions "Last good spec": kept in the ConfigMap that the Deployment's template names; if that one is lost, in the
 * newest other one of the server.
 */
export const acceptedIn = (
  configMaps: readonly KubeObject[],
  deployment: KubeObject | undefined,
): Accepted | undefined => {
  const current = deployment === undefined ? undefined : mountedConfigMap(deployment);
  const newestFirst = [...configMaps].sort((a, b) => compare(createdAt(b), createdAt(a)));
  const candidates = [...newestFirst.filter(({ metadata }) => metadata.name === current), ...newestFirst];
  return candidates.map(acceptedOf).find((accepted) => accepted !== undefined);
};

const createdAt = (object: KubeObject): string => object.metadata.creationTimestamp ?? '';

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const acceptedOf = (configMap: KubeObject): Accepted | undefined => {
  const data = (configMap['data'] ?? {}) as ConfigFiles;
  const { [ACCEPTED_KEY]: text, ...files } = data;
  if (text === undefined) return undefined;
  try {
    const { generation, spec } = JSON.parse(text) as Pick<Accepted, 'generation' | 'spec'>;
    return { ...(generation !== undefined && { generation }), spec, files };
  } catch {
    // Somebody edited it: the next candidate counts.
    return undefined;
  }
};
