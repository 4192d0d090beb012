import type { KubeObject } from '../../object.ts';
import { problem } from '../conditions.ts';
import type { Plan, PlannedCondition } from '../plan.ts';

/** docs/decisions.md "Local mode": a kind that needs containers runs where the user has mapped it to, if he has. */
export const planWithoutCluster = (
  { metadata: { name, generation } }: KubeObject,
  url: string | undefined,
  known: readonly PlannedCondition[],
): Plan => {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  if (url !== undefined) {
    const status = { phase: 'Ready', message: 'runs where it is mapped to', url, ...observed, conditions: known };
    return { objects: [], status, events: [] };
  }
  const message = `needs containers; start it yourself and map it with --backend ${name}=URL`;
  const conditions = [...known, problem('NeedsCluster', 'NeedsCluster', message)];
  return { objects: [], status: { phase: 'Pending', message, ...observed, conditions }, events: [] };
};
