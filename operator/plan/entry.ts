import type { KubeObject } from '../object.ts';
import { fact, stalled, warningsOf } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { Plan, PlannedCondition } from './plan.ts';
import { type ResolvedReference, referenceConditions, unresolved, unresolvedText } from './references.ts';
import { type Verdict, validCondition, verdictOn } from './verdict.ts';

/** An MCPServerEntry and what it refers to. */
export interface EntryBundle {
  readonly entry: KubeObject;
  readonly references: readonly ResolvedReference[];
}

/** An entry has no children: it is validated here, and served by the servers of its group. */
export const planEntry = ({ entry, references }: EntryBundle, contract: Contract): Plan => {
  const verdict = verdictOn({ config: entry, references }, contract);
  const ready = readyCondition(verdict, unresolved(references));
  const others = [validCondition(verdict, SERVABLE), ...referenceConditions(references), ...stalled(verdict.stalledBy)];
  return {
    status: {
      phase: PHASES.get(ready.reason) ?? 'Failed',
      ...(entry.metadata.generation !== undefined && { observedGeneration: entry.metadata.generation }),
      conditions: [...others, ready],
    },
    // Another condition says already what keeps it from being ready.
    events: warningsOf(others),
  };
};

const SERVABLE = 'the entry can be served';

const PHASES: ReadonlyMap<string, string> = new Map([
  ['Valid', 'Valid'],
  ['ReferenceMissing', 'Pending'],
]);

/** Whether the server answers is another question, which those who serve it answer, each for itself. */
const readyCondition = (
  { conditionReason, complaints }: Verdict,
  open: readonly ResolvedReference[],
): PlannedCondition => {
  if (complaints.length > 0) return fact('Ready', false, conditionReason, complaints.join('; '));
  return open.length === 0
    ? fact('Ready', true, 'Valid', SERVABLE)
    : fact('Ready', false, 'ReferenceMissing', open.map(unresolvedText).join('; '));
};
