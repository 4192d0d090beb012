import type { KubeObject } from '../object.ts';
import { warningsOf } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { Plan } from './plan.ts';
import { type ResolvedReference, referenceConditions, unresolved } from './references.ts';
import { stalled } from './stalled.ts';
import { validCondition, verdictOn } from './verdict.ts';

/** An MCPServerEntry and what it refers to. */
export interface EntryBundle {
  readonly entry: KubeObject;
  readonly references: readonly ResolvedReference[];
}

/** An entry has no children: it is checked here and served by whoever serves its group. */
export const planEntry = ({ entry, references }: EntryBundle, contract: Contract): Plan => {
  const verdict = verdictOn({ config: entry, references }, contract);
  const valid = validCondition(verdict, 'the entry can be served');
  const conditions = [valid, ...referenceConditions(references), ...stalled(verdict.stalledBy)];
  const isComplete = unresolved(references).length === 0;
  return {
    status: {
      phase: valid.status === 'False' ? 'Failed' : isComplete ? 'Valid' : 'Pending',
      ...(entry.metadata.generation !== undefined && { observedGeneration: entry.metadata.generation }),
      conditions,
    },
    events: warningsOf(conditions),
  };
};
