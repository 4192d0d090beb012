import type { KubeObject } from '../../object.ts';
import { amountOf } from '../../quantity.ts';
import type { EmbeddingServerSpec, ModelCache } from './spec.ts';

type Value = Readonly<Record<string, unknown>>;

const VOLUME = 'model-cache';
const DIRECTORY = '/data';

/** What the manifest asks for; undefined: the model is fetched anew by every pod. */
export const wantedCache = ({ modelCache }: EmbeddingServerSpec): ModelCache | undefined => {
  if (modelCache?.enabled !== true) return undefined;
  const { enabled: _switch, ...cache } = modelCache;
  return cache;
};

/** What the pods of a StatefulSet have. Kubernetes never changes it: the volumes exist. */
export const existingCache = (statefulSet: KubeObject): ModelCache | undefined => {
  const { volumeClaimTemplates = [] } = (statefulSet['spec'] ?? {}) as { readonly volumeClaimTemplates?: Claim[] };
  const claim = volumeClaimTemplates.find(({ metadata }) => metadata?.name === VOLUME)?.spec;
  if (claim === undefined) return undefined;
  const { storageClassName } = claim;
  return {
    size: claim.resources?.requests?.['storage'] ?? '',
    accessMode: claim.accessModes?.[0] ?? '',
    ...(storageClassName !== undefined && { storageClassName }),
  };
};

interface Claim {
  readonly metadata?: { readonly name?: string };
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
}

/** Whether both ask for the same volume; sizes are compared as quantities (`1Gi` is `1024Mi`). */
export const isSameCache = (a: ModelCache | undefined, b: ModelCache | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : amountOf(a.size) === amountOf(b.size) &&
      a.accessMode === b.accessMode &&
      a.storageClassName === b.storageClassName;

/** For messages: size, access mode and storage class. */
export const cacheText = (cache: ModelCache | undefined): string =>
  cache === undefined
    ? 'no volume'
    : [cache.size, cache.accessMode, ...(cache.storageClassName === undefined ? [] : [cache.storageClassName])].join(
        ' ',
      );

/** What of it stands in the StatefulSet. What is in a cache can be fetched again, so it goes with its pod. */
export const cacheClaims = (cache: ModelCache | undefined): Value =>
  cache === undefined
    ? {}
    : {
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
        volumeClaimTemplates: [
          {
            metadata: { name: VOLUME },
            spec: {
              accessModes: [cache.accessMode],
              ...(cache.storageClassName !== undefined && { storageClassName: cache.storageClassName }),
              resources: { requests: { storage: cache.size } },
            },
          },
        ],
      };

/** In the pod; without a volume of its own the model lies on the node as long as the pod lives. */
export const cacheVolumes = (cache: ModelCache | undefined): Value =>
  cache === undefined ? { volumes: [{ name: VOLUME, emptyDir: {} }] } : {};

/** Where text-embeddings-inference keeps models in the container; the variables below tell it and similar servers. */
export const cacheMount = (): Value => ({ volumeMounts: [{ name: VOLUME, mountPath: DIRECTORY }] });

/** Environment variables by which the Hugging Face libraries keep models in the cache. */
export const cacheVariables = [
  { name: 'HF_HOME', value: DIRECTORY },
  { name: 'HUGGINGFACE_HUB_CACHE', value: DIRECTORY },
];
