import { applyFilter, unmatchedOverrides } from './advertised.ts';
import { byBackend, type Candidate, type Named } from './candidate.ts';
import { defaultPrefix } from './conflict-rules/prefix.ts';
import type { ConflictRule } from './conflict-rules/rule.ts';
import type { AggregationSettings } from './settings.ts';

/** A setting of `config.aggregation.tools` that has no effect: its backend is up and lists no such tool. */
export interface UnmatchedSetting {
  readonly workload: string;
  readonly setting: 'filter' | 'overrides';
  readonly tool: string;
}

export interface HiddenSplit {
  readonly visible: readonly Candidate[];
  /** Neither listed to clients nor callable by them, but usable by workflows. */
  readonly hidden: readonly Candidate[];
  readonly unmatched: readonly UnmatchedSetting[];
}

interface ListedBackend {
  readonly name: string;
  readonly isListed: boolean;
}

/**
 * Splits the tools of `backends` into visible and hidden ones by `excludeAllTools`, `excludeAll` and `filter`. The
 * names of other tools do not matter.
 */
export const splitHidden = (
  backends: readonly ListedBackend[],
  { excludeAllTools, tools }: AggregationSettings,
  { candidates, namesOf }: { readonly candidates: readonly Candidate[] } & Pick<ConflictRule, 'namesOf'>,
): HiddenSplit => {
  const candidatesOf = Map.groupBy(candidates, ({ backend }) => backend);
  const keptOf = new Map<string, ReadonlySet<string>>();
  const unmatched: UnmatchedSetting[] = [];
  for (const { name: workload, isListed } of backends) {
    const settings = tools.get(workload);
    if (!settings) continue;
    const own = candidatesOf.get(workload) ?? [];
    const filter = settings.filter && applyFilter(settings.filter, own, namesOf);
    if (filter) keptOf.set(workload, filter.kept);
    if (settings.excludeAll) keptOf.set(workload, new Set());
    // The tools of a backend that is down are not known.
    if (!isListed) continue;
    const missing = unmatchedOverrides(settings, own);
    unmatched.push(...missing.map((tool) => ({ workload, setting: 'overrides' as const, tool })));
    unmatched.push(...(filter?.unmatched ?? []).map((tool) => ({ workload, setting: 'filter' as const, tool })));
  }
  const isHidden = ({ backend, item }: Candidate): boolean =>
    excludeAllTools || keptOf.get(backend)?.has(item.key) === false;
  return {
    visible: candidates.filter((each) => !isHidden(each)),
    hidden: candidates.filter(isHidden),
    unmatched,
  };
};

/**
 * Hidden tools under the names that workflows route them by: the name that the rule gives among hidden tools alone,
 * else the one with the default prefix. No hidden tool takes a name of `taken`, which visible tools have or contest.
 */
export const hiddenNames = (
  hidden: readonly Candidate[],
  rule: Pick<ConflictRule, 'tools'>,
  taken: Iterable<string>,
): readonly Named[] => {
  const names = new Set(taken);
  const tools = new Map<string, Named>();
  const nameEach = (named: readonly Named[]): void => {
    for (const each of byBackend(named)) {
      const tool = `${each.backend}\n${each.item.key}`;
      if (tools.has(tool) || names.has(each.advertised)) continue;
      names.add(each.advertised);
      tools.set(tool, each);
    }
  };
  nameEach(rule.tools(hidden).named);
  // Hidden tools stay routable for composite tools: docs/aggregation.md "Hiding tools"
  nameEach(hidden.map(defaultPrefix));
  return [...tools.values()];
};
