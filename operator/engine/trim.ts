import { CONTENT_UNSEEN } from '../api/selection.ts';
import { fieldManager } from '../object.ts';
import type { KubeObject, ManagedFields, ObjectMeta } from '../object.ts';
import type { PodsOf } from '../plan/workload/pods-of.ts';

/** Keeps of an object what plans and comparisons need: a cache of thousands must stay small. */
export const trim = (object: KubeObject): KubeObject => ({
  ...rest(object),
  metadata: trimMetadata(object.metadata, CONTENT_UNSEEN.has(object.kind) ? contentChanges : ours),
});

type Entries = readonly ManagedFields[];

const ours = (entries: Entries): Entries =>
  entries.filter((entry) => entry.manager === fieldManager && entry.operation === 'Apply');

/** As who applies them writes them. */
const CONTENT_FIELDS = ['f:data', 'f:binaryData', 'f:stringData'];

/** Of content that is not seen, these tell who changed it, and when. */
const contentChanges = (entries: Entries): Entries =>
  entries
    .filter(({ fieldsV1 = {} }) => CONTENT_FIELDS.some((field) => field in fieldsV1))
    .map((entry) => ({ ...entry, fieldsV1: {} }));

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

const trimMetadata = (metadata: ObjectMeta, keep: (entries: Entries) => Entries): ObjectMeta => {
  const { managedFields, annotations, ...kept } = metadata;
  const entries = keep(managedFields ?? []);
  const { [lastApplied]: _, ...shown } = annotations ?? {};
  return {
    ...kept,
    ...(Object.keys(shown).length === 0 ? {} : { annotations: shown }),
    ...(entries.length === 0 ? {} : { managedFields: entries }),
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
        // Of a pod before it runs plans ask this (plan/workload/pods-of.ts).
        spec: { ...pick(object['spec'], ['nodeName', 'volumes']), containers: namesOf(object['spec']) },
        status: pick(object['status'], podStatus),
      }
    : object;

const namesOf = (podSpec: unknown): readonly { readonly name: string }[] => {
  const { containers = [] } = (podSpec ?? {}) as PodsOf['spec'];
  return containers.map(({ name }) => ({ name }));
};

const podStatus = ['phase', 'podIP', 'conditions', 'containerStatuses', 'initContainerStatuses', 'message', 'reason'];
