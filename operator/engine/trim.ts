import { fieldManager } from '../object.ts';
import type { KubeObject, ObjectMeta } from '../object.ts';

/** Keeps of an object what plans and comparisons need: a cache of thousands must stay small. */
export const trim = (object: KubeObject): KubeObject => ({ ...rest(object), metadata: trimMetadata(object.metadata) });

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

const trimMetadata = (metadata: ObjectMeta): ObjectMeta => {
  const { managedFields, annotations, ...kept } = metadata;
  const ours = managedFields?.filter((entry) => entry.manager === fieldManager && entry.operation === 'Apply') ?? [];
  const { [lastApplied]: _, ...shown } = annotations ?? {};
  return {
    ...kept,
    ...(Object.keys(shown).length === 0 ? {} : { annotations: shown }),
    ...(ours.length === 0 ? {} : { managedFields: ours }),
  };
};

const pick = (value: unknown, keys: readonly string[]): Readonly<Record<string, unknown>> => {
  const record = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(keys.filter((key) => record[key] !== undefined).map((key) => [key, record[key]]));
};

const rest = (object: KubeObject): KubeObject =>
  object.kind === 'Pod'
    ? {
        apiVersion: object.apiVersion,
        kind: object.kind,
        metadata: object.metadata,
        spec: pick(object['spec'], ['nodeName', 'volumes']),
        status: pick(object['status'], podStatus),
      }
    : object;

const podStatus = ['phase', 'podIP', 'conditions', 'containerStatuses', 'initContainerStatuses', 'message', 'reason'];
