import { DEFAULT_PREFIX_FORMAT } from '../../config/index.ts';
import { prefixedBy } from './prefix.ts';
import { bare, contestsOf, nobody, type MakeConflictRule, type Resolve } from './rule.ts';

const prefixAll = prefixedBy(DEFAULT_PREFIX_FORMAT);

/**
 * spec: config.aggregation.conflictResolution `priority`: a contested name belongs to the first backend of the order that has it, the
 * others' are dropped. Where none of them is in the order, each takes the default prefix (decisions).
 */
export const priorityRule: MakeConflictRule = ({ priorityOrder }) => {
  const resolve: Resolve = (candidates) => ({
    named: contestsOf(candidates).flatMap((contest) => {
      if (contest.backends.length === 1) return contest.candidates.map(bare);
      const winner = priorityOrder.find((backend) => contest.backends.includes(backend));
      if (winner === undefined) return prefixAll(contest.candidates).named;
      return contest.candidates.filter(({ backend }) => backend === winner).map(bare);
    }),
    unresolved: [],
  });
  return { tools: resolve, prompts: resolve, ownerOf: nobody };
};
