import type { Candidate } from './candidate.ts';
import type { ConflictRule } from './conflict-rules/rule.ts';
import type { WorkloadTools } from './settings.ts';

/** Which tools a filter lets through, by their own names, and its entries that let none through. */
export interface FilterResult {
  readonly kept: ReadonlySet<string>;
  readonly unmatched: readonly string[];
}

/**
 * docs/aggregation.md "Hiding tools": an entry matches the advertised name, else the name after overrides, else the
 * backend's own; the first form that matches any tool of the backend decides for that entry (docs/decisions.md "Order
 * of the steps"). Filters come before conflicts, so that every name counts as advertised that a conflict may leave to a
 * tool.
 */
export const applyFilter = (
  filter: readonly string[],
  tools: readonly Candidate[],
  namesOf: ConflictRule['namesOf'],
): FilterResult => {
  const forms = [byForm(tools, namesOf), byForm(tools, ({ name }) => [name]), byForm(tools, ({ item }) => [item.key])];
  const kept = new Set<string>();
  const unmatched: string[] = [];
  for (const entry of new Set(filter)) {
    const matched = forms.find((form) => form.has(entry))?.get(entry);
    if (matched) for (const own of matched) kept.add(own);
    else unmatched.push(entry);
  }
  return { kept, unmatched };
};

type Form = ReadonlyMap<string, readonly string[]>;

const byForm = (tools: readonly Candidate[], namesOf: ConflictRule['namesOf']): Form => {
  const form = new Map<string, string[]>();
  for (const tool of tools) {
    for (const name of namesOf(tool)) {
      const known = form.get(name);
      if (known) known.push(tool.item.key);
      else form.set(name, [tool.item.key]);
    }
  }
  return form;
};

/** Overrides that change a tool the backend does not have. */
export const unmatchedOverrides = ({ overrides }: WorkloadTools, tools: readonly Candidate[]): readonly string[] => {
  const known = new Set(tools.map(({ item }) => item.key));
  return [...overrides.keys()].filter((tool) => !known.has(tool));
};
