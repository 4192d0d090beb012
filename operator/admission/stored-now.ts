import type { KubeObject, ObjectKey } from '../object.ts';
import { unreadable } from '../validate/index.ts';
import { type Cluster, isOnItsWayOut } from './cluster.ts';

/**
 * An object as it is stored now, given what the watch knows of it; undefined when it has gone. It may be a megabyte
 * that its author wrote, so only its metadata is asked for where that tells that its spec is the known one.
 */
export const storedNow = async (
  key: ObjectKey,
  known: KubeObject | undefined,
  { get, getMetadata }: Cluster,
): Promise<KubeObject | undefined> => {
  const { uid, generation } = known?.metadata ?? {};
  if (known === undefined || generation === undefined || unreadable(known) !== undefined) return get(key);
  const metadata = await getMetadata(key);
  if (metadata === undefined) return undefined;
  if (metadata.uid !== uid || metadata.generation !== generation) return get(key);
  return metadata.deletionTimestamp === undefined || isOnItsWayOut(known) ? known : { ...known, metadata };
};
