import type { KubeObject, ObjectKey } from '../object.ts';
import type { PhasesWithProblems, Plan, VolatileKeys } from '../plan/plan.ts';
import type { Mac } from '../plan/mac.ts';
import type { Settings } from '../plan/settings.ts';
import type { Source } from '../read/source.ts';

/** The whole object, as it is now; undefined when it has gone meanwhile. */
export type ReadContent = (metadata: KubeObject) => Promise<KubeObject | undefined>;

/** What `complete` may ask the API server. */
export interface Reads {
  readonly content: ReadContent;
  /**
   * Why pods of this StatefulSet are not created; undefined when its events do not say. The object that asks is
   * reconciled again soon.
   */
  readonly podCreationFailure: (statefulSet: KubeObject) => Promise<string | undefined>;
}

/** One reconciled kind: what it reads, and what it makes of it. `operator/kinds/index.ts` lists them all. */
export interface ReconciledKind<Bundle = unknown> {
  readonly kind: string;
  /**
   * Child kinds it owns; the engine watches them, maps them back by owner reference and removes those no longer
   * planned.
   */
  readonly owns: readonly string[];
  /**
   * Every other kind `resolve` and `affectedBy` ask the source for; the engine watches exactly `kind`, `owns`, `reads`.
   */
  readonly reads: readonly string[];
  /**
   * Keys of the status that may grow stale, at any depth (`lastHealthCheck`): alone they cause a write every 10 minutes
   * at most.
   */
  readonly volatileStatus?: (owner: KubeObject) => VolatileKeys;
  /** Phases that become others while a child is not as planned; absent: `DEGRADING`. */
  readonly phasesWithProblems?: PhasesWithProblems;
  /**
   * Gathers everything `plan` needs into one frozen value; undefined when the object is gone. Accepted specs in
   * ConfigMaps count only if `mac` verifies them.
   */
  resolve(source: Source, key: ObjectKey, mac?: Mac): Bundle | undefined;
  /** The bundle with what the source does not hold; only where `plan` needs it. */
  complete?(bundle: Bundle, reads: Reads): Promise<Bundle>;
  plan(bundle: Bundle, settings: Settings): Plan;
  /** `plan` takes less time than to copy the bundle to another thread. Default: false. */
  readonly isPlannedInline?: boolean;
  /** Keys of this kind to look at again because `changed` (of another kind) changed. */
  affectedBy(source: Source, changed: KubeObject): readonly ObjectKey[];
}
