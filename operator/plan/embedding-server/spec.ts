import type { KubeObject } from '../../object.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { childOf, originOfChild } from '../workload/child.ts';
import type { Variable } from '../workload/pod.ts';

/** The fields of an EmbeddingServer, as the API server or `parseResource` has checked them and filled in defaults. */
export interface EmbeddingServerSpec {
  readonly model: string;
  readonly image: string;
  readonly imagePullPolicy: 'Always' | 'Never' | 'IfNotPresent';
  readonly port: number;
  readonly replicas: number;
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly hfTokenSecretRef?: { readonly name: string; readonly key: string };
  readonly modelCache?: ModelCache & { readonly enabled: boolean };
  readonly resources?: Readonly<Record<string, unknown>>;
  /** Free-form: a strategic merge patch over the pod template that is made. */
  readonly podTemplateSpec?: Readonly<Record<string, unknown>>;
}

/** The volume of each pod that keeps the model. */
export interface ModelCache {
  readonly size: string;
  readonly accessMode: string;
  readonly storageClassName?: string;
}

export const embeddingServerSpec = (server: KubeObject): EmbeddingServerSpec => server['spec'] as EmbeddingServerSpec;

/** spec: status.url. Where it is reached, base URL without a path; undefined where it is not run (local mode, unless mapped). */
export const embeddingServerUrl = (
  { name, namespace = 'default' }: { readonly name: string; readonly namespace?: string },
  settings: Settings,
): string | undefined =>
  settings.local === undefined
    ? originOfChild(childOf({ apiVersion: '', kind: 'EmbeddingServer', metadata: { name, namespace } }), settings)
    : mappedUrl(settings, name);

/** spec: the optimizer needs a ready one. */
export const isReady = ({ status }: KubeObject): boolean =>
  (status as { readonly phase?: string } | undefined)?.phase === 'Ready';
