import type { KubeObject } from '../object.ts';
import { warningsOf, fact } from './conditions.ts';
import { unsupportedFields } from './contract.ts';
import { urlProblem } from './entry-url.ts';
import type { Plan, PlannedCondition } from './plan.ts';

/** An MCPServerEntry and whether the group it names exists. */
export interface EntryBundle {
  readonly entry: KubeObject;
  readonly groupName: string;
  readonly hasGroup: boolean;
}

/** An entry has no children: it is checked here and served by whoever serves its group. */
export const planEntry = (bundle: EntryBundle): Plan => {
  const conditions = [valid(bundle.entry), groupResolved(bundle)];
  const [{ status: isValid }] = conditions as [PlannedCondition];
  return {
    status: {
      phase: isValid === 'False' ? 'Failed' : bundle.hasGroup ? 'Valid' : 'Pending',
      ...(bundle.entry.metadata.generation !== undefined && { observedGeneration: bundle.entry.metadata.generation }),
      conditions,
    },
    events: warningsOf(conditions),
  };
};

const valid = (entry: KubeObject): PlannedCondition => {
  const unsupported = unsupportedFields('MCPServerEntry', entry['spec']);
  if (unsupported.length > 0) {
    return fact('Valid', false, 'NotSupportedYet', unsupported.map(({ message }) => message).join('; '));
  }
  const wrong = urlProblem((entry['spec'] as { readonly remoteUrl: string }).remoteUrl);
  return wrong === undefined
    ? fact('Valid', true, 'Valid', 'the entry can be served')
    : fact('Valid', false, 'InvalidUrl', `spec.remoteUrl: ${wrong}`);
};

const groupResolved = ({ groupName, hasGroup }: EntryBundle): PlannedCondition =>
  hasGroup
    ? fact('GroupResolved', true, 'GroupFound', `MCPGroup ${groupName}`)
    : fact(
        'GroupResolved',
        false,
        'GroupNotFound',
        `no MCPGroup ${groupName} in this namespace; create it or change spec.groupRef`,
      );
