import type { ApiClient } from './api/client.ts';
import type { Cache } from './cache/cache.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import type { Plan, PlannedEvent } from './plan/plan.ts';
import type { Settings } from './plan/settings.ts';
import type { Source } from './read/source.ts';
import type { Rewrites } from './write/rewrites.ts';
import type { StatusWrites } from './write/status-writes.ts';
import type { UnsentChildren } from './write/unsent.ts';
import type { KubeObject, ObjectKey } from './object.ts';

/** The cluster as a reconcile sees and changes it. */
export interface ReconcileContext {
  readonly source: Source;
  readonly settings: Settings;
  readonly api: ApiClient;
  readonly cache: Cache;
  readonly rewrites: Rewrites;
  readonly statusWrites: StatusWrites;
  readonly unsent: UnsentChildren;
  /** In `settings`, and in a time that nobody has to wait for. */
  readonly plan: (kind: ReconciledKind, owner: KubeObject, bundle: unknown, signal: AbortSignal) => Promise<Plan>;
  readonly now: () => number;
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly record: (regarding: KubeObject, events: readonly PlannedEvent[], signal: AbortSignal) => Promise<void>;
  /** The server did not take the status of this resource, so that nobody can read there why. */
  readonly onStatusRefused: (key: ObjectKey, error: Error) => void;
  /** The whole ConfigMap that the source knows the metadata of; undefined when it has gone. */
  readonly readContent: (metadata: KubeObject, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** Ask the pods of this server at this interval. */
  readonly followPods: (owner: ObjectKey, uid: string, everyMs: number) => void;
  /** Do not ask them any more. */
  readonly forget: (key: ObjectKey) => void;
}
