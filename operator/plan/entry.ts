import type { KubeObject } from '../object.ts';
import { warningsOf, fact } from './conditions.ts';
import type { Contract } from './contract.ts';
import { violationText, violationsOf } from '../validate/index.ts';
import type { Plan, PlannedCondition } from './plan.ts';
import { type ResolvedReference, lookUpIn, referenceConditions, unresolved } from './references.ts';

/** An MCPServerEntry and what it refers to. */
export interface EntryBundle {
  readonly entry: KubeObject;
  readonly references: readonly ResolvedReference[];
}

/** An entry has no children: it is checked here and served by whoever serves its group. */
export const planEntry = (bundle: EntryBundle, contract: Contract): Plan => {
  const { entry, references } = bundle;
  const isValid = valid(bundle, contract);
  const conditions = [isValid, ...referenceConditions(references)];
  const isComplete = unresolved(references).length === 0;
  return {
    status: {
      phase: isValid.status === 'False' ? 'Failed' : isComplete ? 'Valid' : 'Pending',
      ...(entry.metadata.generation !== undefined && { observedGeneration: entry.metadata.generation }),
      conditions,
    },
    events: warningsOf(conditions),
  };
};

const valid = ({ entry, references }: EntryBundle, contract: Contract): PlannedCondition => {
  const unsupported = contract.unsupportedFields('MCPServerEntry', entry['spec']);
  if (unsupported.length > 0) {
    return fact('Valid', false, 'NotSupportedYet', unsupported.map(({ message }) => message).join('; '));
  }
  const wrong = violationsOf(entry, lookUpIn(references));
  const [first] = wrong;
  return first === undefined
    ? fact('Valid', true, 'Valid', 'the entry can be served')
    : fact('Valid', false, first.word, wrong.map(violationText).join('; '));
};
