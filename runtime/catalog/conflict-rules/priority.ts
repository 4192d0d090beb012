import { defaultPrefix } from './prefix.ts';
import { bare, type ConflictRule, contestsOf, noOwner, type MakeConflictRule, type Resolve } from './rule.ts';

/**
 * docs/aggregation.md "Names: conflictResolution", `priority`: a contested name belongs to the first backend of the
 * order that has it, the others' are dropped. Where none of them is in the order, each takes the default prefix
 * (docs/decisions.md "Priority without an order").
 */
export const priorityRule: MakeConflictRule = ({ priorityOrder }) => {
  const resolve: Resolve = (candidates) => ({
    named: contestsOf(candidates).flatMap((contest) => {
      if (contest.backends.length === 1) return contest.candidates.map(bare);
      const winner = priorityOrder.find((backend) => contest.backends.includes(backend));
      if (winner === undefined) return contest.candidates.map(defaultPrefix);
      return contest.candidates.filter(({ backend }) => backend === winner).map(bare);
    }),
    unresolved: [],
  });
  const namesOf: ConflictRule['namesOf'] = (each) => [bare(each).advertised, defaultPrefix(each).advertised];
  return { tools: resolve, namesOf, prompts: resolve, ownerOf: noOwner };
};
