import type { ApiClient } from './api/client.ts';
import type { Cache } from './cache/cache.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import type { Plan, PlannedEvent } from './plan/plan.ts';
import type { Settings } from './plan/settings.ts';
import type { Source } from './read/source.ts';
import type { ServerMutations } from './write/server-mutations.ts';
import type { StatusWriteHistory } from './write/status-write-history.ts';
import type { ApplyBackoff } from './write/apply-backoff.ts';
import type { KubeObject, ObjectKey } from './object.ts';

/** The cluster as a reconcile sees and changes it. */
export interface ReconcileContext {
  readonly source: Source;
  readonly settings: Settings;
  readonly api: ApiClient;
  readonly cache: Cache;
  readonly serverMutations: ServerMutations;
  readonly statusWrites: StatusWriteHistory;
  readonly applyBackoff: ApplyBackoff;
  /** Makes the plan, in `settings`, in another thread where it is large. */
  readonly plan: (kind: ReconciledKind, owner: KubeObject, bundle: unknown, signal: AbortSignal) => Promise<Plan>;
  readonly now: () => number;
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly record: (regarding: KubeObject, events: readonly PlannedEvent[], signal: AbortSignal) => Promise<void>;
  /** The API server has refused the status of this resource, so its reason cannot be in there. */
  readonly onStatusRefused: (key: ObjectKey, error: Error) => void;
  /** The whole ConfigMap that the source knows the metadata of; undefined when it has gone. */
  readonly readContent: (metadata: KubeObject, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** Polls the status of this server's pods at this interval. */
  readonly pollPods: (owner: ObjectKey, uid: string, everyMs: number) => void;
  /** Stops polling them. */
  readonly forget: (key: ObjectKey) => void;
}
