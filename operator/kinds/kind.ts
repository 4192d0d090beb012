import type { KubeObject, ObjectKey } from '../object.ts';
import type { Plan } from '../plan/plan.ts';
import type { Settings } from '../plan/settings.ts';
import type { Source } from '../read/source.ts';

/** One reconciled kind: what it reads, and what it makes of it. `operator/kinds/index.ts` lists them all. */
export interface ReconciledKind<Bundle = unknown> {
  readonly kind: string;
  /** Child kinds it owns; the engine watches them and maps them back by owner reference. */
  readonly owns: readonly string[];
  /** Kinds whose every change in a namespace may matter to objects of this kind although no reference names them (group members). */
  readonly membershipOf?: readonly string[];
  /** Gathers everything `plan` needs into one frozen value; undefined when the object is gone. */
  resolve(source: Source, key: ObjectKey): Bundle | undefined;
  plan(bundle: Bundle, settings: Settings): Plan;
  /** Keys of this kind to look at again because `changed` (of another kind) changed. */
  affectedBy(source: Source, changed: KubeObject): readonly ObjectKey[];
}
