import type { KubeObject } from '../object.ts';
import { conditionsIn } from '../plan/conditions.ts';

/**
 * It may be served from an accepted spec that names other objects than the newest one does: nobody has looked at the newest
 * yet, or it is invalid, or something that it names is missing. Such a server is told of everything. What is told by conditions of
 * types `ofParts` has no effect on which spec is served.
 */
export const unsettled =
  (ofParts: readonly string[]) =>
  ({ metadata: { generation }, ...object }: KubeObject): boolean => {
    const { observedGeneration } = (object['status'] ?? {}) as { readonly observedGeneration?: number };
    const facts = conditionsIn(object['status']).filter(
      ({ type }) => OF_ALL.has(type) || (type.endsWith('Resolved') && !ofParts.includes(type)),
    );
    return observedGeneration !== generation || facts.some(({ status }) => status !== 'True');
  };

const OF_ALL: ReadonlySet<string> = new Set(['Valid', 'EmbeddingServerReady']);
