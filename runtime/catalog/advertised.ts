import type { Candidate, Named } from './candidate.ts';
import type { WorkloadTools } from './settings.ts';

/** The tools of one backend: all that it has, and those that have a name here. */
export interface OwnTools {
  readonly candidates: readonly Candidate[];
  readonly named: readonly Named[];
}

/** Which tools a filter lets through, by their own names, and its entries that let none through. */
export interface Filtered {
  readonly kept: ReadonlySet<string>;
  readonly unmatched: readonly string[];
}

/**
 * spec: config.aggregation.tools[].filter. An entry matches the advertised name, else the name after overrides, else the backend's own;
 * the first form that matches any tool of the backend decides for that entry (decisions).
 */
export const filtered = (filter: readonly string[], tools: OwnTools): Filtered => {
  const forms = formsOf(tools);
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

const formsOf = ({ candidates, named }: OwnTools): readonly Form[] => [
  byForm(named, ({ advertised }) => advertised),
  byForm(candidates, ({ name }) => name),
  byForm(candidates, ({ item }) => item.key),
];

const byForm = <T extends Candidate>(tools: readonly T[], nameOf: (tool: T) => string): Form => {
  const form = new Map<string, string[]>();
  for (const tool of tools) {
    const name = nameOf(tool);
    const known = form.get(name);
    if (known) known.push(tool.item.key);
    else form.set(name, [tool.item.key]);
  }
  return form;
};

/** Overrides that change a tool the backend does not have. */
export const unmatchedOverrides = ({ overrides }: WorkloadTools, { candidates }: OwnTools): readonly string[] => {
  const known = new Set(candidates.map(({ item }) => item.key));
  return [...overrides.keys()].filter((tool) => !known.has(tool));
};
