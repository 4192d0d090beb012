import { filtered, unmatchedOverrides } from './advertised.ts';
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

export interface Hiding {
  readonly visible: readonly Candidate[];
  /** Out of lists and out of reach of clients, but not of workflows. */
  readonly hidden: readonly Candidate[];
  readonly unmatched: readonly UnmatchedSetting[];
}

interface ListedBackend {
  readonly name: string;
  readonly isListed: boolean;
}

/** Parts the tools of `backends` by `excludeAllTools`, `excludeAll` and `filter`. What others are called plays no part in it. */
export const hiding = (
  backends: readonly ListedBackend[],
  { excludeAllTools, tools }: AggregationSettings,
  { candidates, namesOf }: { readonly candidates: readonly Candidate[] } & Pick<ConflictRule, 'namesOf'>,
): Hiding => {
  const candidatesOf = Map.groupBy(candidates, ({ backend }) => backend);
  const keptOf = new Map<string, ReadonlySet<string>>();
  const unmatched: UnmatchedSetting[] = [];
  for (const { name: workload, isListed } of backends) {
    const settings = tools.get(workload);
    if (!settings) continue;
    const own = candidatesOf.get(workload) ?? [];
    const filter = settings.filter && filtered(settings.filter, own, namesOf);
    if (filter) keptOf.set(workload, filter.kept);
    if (settings.excludeAll) keptOf.set(workload, new Set());
    // Of a backend that is down nobody knows what it has.
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
 * Hidden tools under the names that workflows route them by: those that the rule gives among hidden tools alone, else that of the default
 * prefix. None takes a name of `taken`, which visible tools have or contend for.
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
  // spec: hidden tools stay routable for composite tools.
  nameEach(hidden.map(defaultPrefix));
  return [...tools.values()];
};
