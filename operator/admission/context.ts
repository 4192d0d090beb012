import { API_GROUP } from '../../crds/index.ts';
import type { Referrers } from '../kinds/referrers.ts';
import type { KubeObject, ObjectKey, ObjectMeta } from '../object.ts';
import type { ValidateObject } from '../offload/validate.ts';
import type { Source } from '../read/source.ts';
import { unreadable } from '../validate/index.ts';

/** What an admission check reads of the cluster. */
export interface AdmissionContext {
  /** From the watches, which lag behind the API server a little. */
  readonly source: Source;
  readonly referrersOf: Referrers;
  readonly validate: ValidateObject;
  /** Reads the object from the API server; undefined when there is none. */
  readonly get: (key: ObjectKey) => Promise<KubeObject | undefined>;
  /** Reads only the object's metadata from the API server. */
  readonly getMetadata: (key: ObjectKey) => Promise<ObjectMeta | undefined>;
}

export const isOurs = ({ apiVersion }: KubeObject): boolean => apiVersion.startsWith(`${API_GROUP}/`);

export const isTerminating = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

/**
 * Reads an object from the API server, given what the watch knows of it; undefined when it is gone. The object may be a
 * megabyte, so only its metadata is read where uid and generation show that the known spec is current.
 */
export const getLive = async (
  key: ObjectKey,
  known: KubeObject | undefined,
  { get, getMetadata }: AdmissionContext,
): Promise<KubeObject | undefined> => {
  const { uid, generation } = known?.metadata ?? {};
  if (known === undefined || generation === undefined || unreadable(known) !== undefined) return get(key);
  const metadata = await getMetadata(key);
  if (metadata === undefined) return undefined;
  if (metadata.uid !== uid || metadata.generation !== generation) return get(key);
  return metadata.deletionTimestamp === undefined || isTerminating(known) ? known : { ...known, metadata };
};
