import { fact, stalled, warningsOf } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { Plan } from './plan.ts';
import type { SharedConfigBundle } from './shared-config.ts';
import { validCondition, verdictOn } from './verdict.ts';

/** A workflow that servers offer as a tool: it can run, or its status says why not. */
export const planCompositeTool = (bundle: SharedConfigBundle, contract: Contract): Plan => {
  const { config, users } = bundle;
  const verdict = verdictOn(bundle, contract);
  const valid = validCondition(verdict);
  const isValid = verdict.complaints.length === 0;
  const ready = isValid
    ? fact('Ready', true, 'WorkflowReady', 'servers that refer to it can offer it')
    : fact('Ready', false, 'WorkflowNotReady', 'see the condition Valid');
  return {
    status: {
      ...(config.metadata.generation !== undefined && { observedGeneration: config.metadata.generation }),
      validationStatus: isValid ? 'Valid' : 'Invalid',
      validationErrors: verdict.complaints,
      referencingVirtualServers: users.filter(({ kind }) => kind === 'VirtualMCPServer').map(({ name }) => name),
      conditions: [valid, ready, ...stalled(verdict.stalledBy)],
    },
    events: warningsOf([valid]),
  };
};
