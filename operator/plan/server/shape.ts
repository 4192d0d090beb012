import type { BackendReport } from '../../../runtime/status-report.ts';
import type { KubeObject } from '../../object.ts';
import type { Plan, PlannedCondition } from '../plan.ts';
import type { Settings } from '../settings.ts';
import type { PlannedBackend } from './backends.ts';
import type { GroupView, ServerBundle } from './bundle.ts';
import type { SpecInput, Value, WrittenInput } from './part.ts';
import type { Phase } from './phase.ts';
import type { PlanDeps, Rendering } from './render.ts';
import type { Situation } from './situation.ts';
import type { ServerSpec } from './spec.ts';

/** What the kinds that the runtime serves differ in; everything else of their plans is the same. */
export interface ServedShape {
  /** What is asked for, in the words of a VirtualMCPServer. */
  specOf(input: WrittenInput): ServerSpec;
  backendsOf(bundle: ServerBundle, input: SpecInput, deps: PlanDeps): ServedBackends;
  /** Children beside those of the runtime, of the spec that is served; applied before them. */
  objectsOf?(bundle: ServerBundle, served: Rendering, settings: Settings): readonly KubeObject[];
  phaseOf(situation: Situation): Phase;
  conditionsOf(situation: Situation, phase: Phase): readonly PlannedCondition[];
  /** What `conditionsOf` tells beside while a child is not as planned. */
  whileNotApplied?(situation: Situation): Plan['whileNotApplied'];
  /** `common` with the fields that this kind has beside. */
  statusOf(situation: Situation, common: Value): Value;
  /** What status said last of the backends: an operator that has just started knows nothing better until a pod answers. */
  lastReported(server: KubeObject): ReadonlyMap<string, BackendReport> | undefined;
}

export interface ServedBackends {
  readonly group: GroupView;
  readonly backends: readonly PlannedBackend[];
}
