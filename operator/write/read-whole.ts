import type { ApiClient } from '../api/client.ts';
import type { Cache } from '../cache/cache.ts';
import { isOutline } from '../cache/held-metadata.ts';
import { type KubeObject, keyOf } from '../object.ts';
import { podsOf } from '../plan/workload/running-workload.ts';
import { mountsOf } from './mounts.ts';

export interface ReadDeps {
  readonly api: Pick<ApiClient, 'get'>;
  readonly cache: Pick<Cache, 'get' | 'fill' | 'controlledBy'>;
}

/**
 * The object with its content, which the cache knows from now on; undefined when it has gone. Asks only for what is an
 * outline.
 */
export const readWhole = async (
  object: KubeObject,
  { api, cache }: Pick<ReadDeps, 'api'> & { readonly cache: Pick<Cache, 'fill'> },
  signal: AbortSignal,
): Promise<KubeObject | undefined> => {
  if (!isOutline(object)) return object;
  const whole = await api.get(keyOf(object), signal);
  if (whole !== undefined) cache.fill(whole);
  return whole;
};

/**
 * A ConfigMap may change again while another one is read. The next look, which each change brings, goes on from there.
 */
const ROUNDS = 3;
/**
 * ConfigMaps that are read where all that pods mount are lost: the last good spec may be in another one, whose MAC
 * names its server.
 */
const OTHERS = 4;

/** Reads the ConfigMaps that pods of this owner mount, so that a plan can be made from what the cache knows. */
export const readMounted = async (owner: KubeObject, deps: ReadDeps, signal: AbortSignal): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) {
    const outlines = mountedBy(owner, deps.cache).filter(isOutline);
    if (outlines.length === 0) return;
    await Promise.all(outlines.map((each) => readWhole(each, deps, signal)));
  }
};

const mountedBy = (owner: KubeObject, cache: ReadDeps['cache']): readonly KubeObject[] => {
  const { namespace = '' } = owner.metadata;
  const deployments = cache.controlledBy('Deployment', owner);
  const workloads = [...deployments, ...deployments.flatMap((each) => cache.controlledBy('ReplicaSet', each))];
  const names = workloads
    .flatMap((workload) => mountsOf(podsOf(workload).spec))
    .flatMap(({ kind, name }) => (kind === 'ConfigMap' ? [name] : []));
  const mounted = [...new Set(names)].flatMap((name) => cache.get({ kind: 'ConfigMap', namespace, name }) ?? []);
  return mounted.length > 0 ? mounted : newest(cache.controlledBy('ConfigMap', owner));
};

const newest = (objects: readonly KubeObject[]): readonly KubeObject[] =>
  objects.toSorted((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1)).slice(0, OTHERS);

const createdAt = ({ metadata }: KubeObject): string => metadata.creationTimestamp ?? '';
