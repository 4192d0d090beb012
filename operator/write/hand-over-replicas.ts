import type { ApiClient } from '../api/client.ts';
import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

/** Field manager that holds the replica count until an autoscaler or a user takes it over. */
const replicasManager = `${fieldManager}-replicas`;

interface Scaled {
  readonly replicas?: number;
}

const specOf = (object: KubeObject): Scaled => object['spec'] ?? {};

/**
 * A replica count that we hold and no longer name would be removed by the next apply, and the server's default is 1:
 * most pods would go. So the count as it is gets another holder first (docs/decisions.md "Replicas may belong to
 * others").
 */
export const handOverReplicas = async (
  desired: KubeObject,
  live: KubeObject,
  api: Pick<ApiClient, 'apply'>,
  signal: AbortSignal,
): Promise<void> => {
  const { replicas } = specOf(live);
  if (specOf(desired).replicas !== undefined || replicas === undefined || !holdsReplicas(live)) {
    return;
  }
  const { apiVersion, kind } = live;
  const { name, namespace, uid } = live.metadata;
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
  await api.apply({ apiVersion, kind, metadata, spec: { replicas } }, signal, replicasManager);
};

const holdsReplicas = (live: KubeObject): boolean =>
  live.metadata.managedFields?.some(({ manager, operation, fieldsV1 }) => {
    const spec = fieldsV1?.['f:spec'];
    return (
      manager === fieldManager && operation === 'Apply' && typeof spec === 'object' && 'f:replicas' in (spec ?? {})
    );
  }) === true;
