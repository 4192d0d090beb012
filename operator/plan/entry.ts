import type { KubeObject } from '../object.ts';
import { warningsOf, fact } from './conditions.ts';
import type { Contract } from './contract.ts';
import { urlProblem } from './entry-url.ts';
import type { Plan, PlannedCondition } from './plan.ts';
import { type ResolvedReference, missingReferences, referenceConditions } from './references.ts';

/** An MCPServerEntry and what it refers to. */
export interface EntryBundle {
  readonly entry: KubeObject;
  readonly references: readonly ResolvedReference[];
}

/** An entry has no children: it is checked here and served by whoever serves its group. */
export const planEntry = ({ entry, references }: EntryBundle, contract: Contract): Plan => {
  const isValid = valid(entry, contract);
  const conditions = [isValid, ...referenceConditions(references)];
  const isComplete = missingReferences(references).length === 0;
  return {
    status: {
      phase: isValid.status === 'False' ? 'Failed' : isComplete ? 'Valid' : 'Pending',
      ...(entry.metadata.generation !== undefined && { observedGeneration: entry.metadata.generation }),
      conditions,
    },
    events: warningsOf(conditions),
  };
};

const valid = (entry: KubeObject, contract: Contract): PlannedCondition => {
  const unsupported = contract.unsupportedFields('MCPServerEntry', entry['spec']);
  if (unsupported.length > 0) {
    return fact('Valid', false, 'NotSupportedYet', unsupported.map(({ message }) => message).join('; '));
  }
  const wrong = urlProblem((entry['spec'] as { readonly remoteUrl: string }).remoteUrl);
  return wrong === undefined
    ? fact('Valid', true, 'Valid', 'the entry can be served')
    : fact('Valid', false, 'InvalidUrl', `spec.remoteUrl: ${wrong}`);
};
