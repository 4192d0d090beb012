import { statusIn, type StoredSpecOf, storedSpecOf } from '../../../crds/index.ts';
import type { KubeObject } from '../../object.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { childOf, originOfChild } from '../workload/child.ts';

export type EmbeddingServerSpec = StoredSpecOf<'EmbeddingServer'>;

/** The volume of each pod that keeps the model. */
export interface ModelCache {
  readonly size: string;
  readonly accessMode: string;
  readonly storageClassName?: string;
}

export const embeddingServerSpec = (server: KubeObject): EmbeddingServerSpec => storedSpecOf('EmbeddingServer', server);

/**
 * `status.url`. Where it is reached, base URL without a path; undefined where it is not run (local mode, unless
 * mapped).
 */
export const embeddingServerUrl = (
  { name, namespace = 'default' }: { readonly name: string; readonly namespace?: string },
  settings: Settings,
): string | undefined =>
  settings.local === undefined
    ? originOfChild(childOf({ apiVersion: '', kind: 'EmbeddingServer', metadata: { name, namespace } }), settings)
    : mappedUrl(settings, name);

/** docs/decisions.md "The optimizer needs its EmbeddingServer" */
export const isReady = (server: KubeObject): boolean => statusIn('EmbeddingServer', server).phase === 'Ready';
