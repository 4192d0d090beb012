import { API_GROUP } from '../../crds/index.ts';
import type { Referrers } from '../kinds/referrers.ts';
import type { KubeObject, ObjectKey, ObjectMeta } from '../object.ts';
import type { Source } from '../read/source.ts';
import type { Judge } from '../offload/judge.ts';

/** What a decision on a change looks at. */
export interface Cluster {
  /** As the watches know it, a moment late. */
  readonly source: Source;
  readonly referrersOf: Referrers;
  readonly judge: Judge;
  /** As it is stored now; undefined when there is no such object. */
  readonly get: (key: ObjectKey) => Promise<KubeObject | undefined>;
  /** The same of its metadata alone. */
  readonly getMetadata: (key: ObjectKey) => Promise<ObjectMeta | undefined>;
}

export const isOurs = ({ apiVersion }: KubeObject): boolean => apiVersion.startsWith(`${API_GROUP}/`);

export const isOnItsWayOut = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
