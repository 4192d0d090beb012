import type { CallerCatalog } from '../catalog/index.ts';
import type { Explained } from '../optimizer/index.ts';
import type { Step } from './explanation.ts';

/** As `Optimizer.explain`. Absent: there is no optimizer. */
export type ExplainSearch = (name: string, text: string, offered: CallerCatalog) => Promise<Explained | undefined>;

/** Whether `find_tool` gives the tool for this text, to a caller who is offered these. */
export const searchStep = async (
  { name, query }: { readonly name: string; readonly query: string },
  offered: CallerCatalog,
  explainSearch: ExplainSearch | undefined,
): Promise<Step> => {
  const found = await explainSearch?.(name, query, offered);
  if (!found)
    return {
      step: 'search',
      outcome: 'skipped',
      reason: 'there is no optimizer, or the caller is not offered the tool: no search gives it',
    };
  const { outcome: _outcome, ...details } = found;
  return { step: 'search', ...details, ...whyOf(found) };
};

type Why = Pick<Step, 'outcome' | 'reason' | 'remedy'>;

const whyOf = (found: Explained): Why => {
  const { outcome, rank, limit, search } = found;
  const by = `${search} search`;
  const less = found.degraded === undefined ? '' : `, degraded: ${found.degraded}`;
  if (outcome === 'found')
    return { outcome: 'ok', reason: `${by} gives it as number ${rank} of at most ${limit}${less}` };
  if (outcome === 'beyond_limit')
    return {
      outcome: 'refused',
      reason: `${by} has it as number ${rank}, and gives ${limit}${less}`,
      remedy: 'raise config.optimizer.maxToolsToReturn, or describe the tool in words that others do not have',
    };
  return { outcome: 'refused', ...whyNoMatch(found, `${by} does not match it${less}`) };
};

const whyNoMatch = (found: Explained, reason: string): Pick<Why, 'reason' | 'remedy'> & { readonly reason: string } => {
  const { semanticDistance: distance, distanceThreshold, isBeyondThreshold, hasVector, search } = found;
  if (isBeyondThreshold && distance !== undefined)
    return {
      reason: `${reason}: its distance ${distance.toFixed(2)} is above ${distanceThreshold}, and none of its words is in the query`,
      remedy: 'raise config.optimizer.semanticDistanceThreshold, or describe the tool in the words that are asked for',
    };
  if (search !== 'keyword' && hasVector === false)
    return { reason: `${reason}: it has no vector yet, and none of its words is in the query` };
  return {
    reason: `${reason}: none of its words is in the query`,
    remedy: 'describe the tool in the words that are asked for: config.aggregation.tools[].overrides',
  };
};
