import type { BackendTarget } from '../call/index.ts';
import { compareText } from '../text.ts';
import type { Named } from './candidate.ts';
import { targetOf } from './name-table.ts';
import type { OwnTool } from './own-tool.ts';
import type { Visibility } from './visible.ts';

/** A tool of a backend as a step of a workflow calls it. */
export interface StepTool {
  /** Its name in the routable table. */
  readonly name: string;
  readonly target: BackendTarget;
}

/** The tool that a step names as `<workload>.<tool>`; undefined where it has lost its name or does not exist. */
export type FindStepTool = (reference: string) => StepTool | undefined;

/**
 * Finds the tools of steps. The longest workload name that fits counts; the tool is named as its backend names it, else
 * by the name of an override. The index is built on first use, as most catalogs have no workflows.
 */
export const stepTools = (routed: readonly Named[]): FindStepTool => {
  let tools: ReadonlyMap<string, Named> | undefined;
  const targets = new Map<Named, StepTool>();
  return (reference) => {
    tools ??= byReference(routed);
    const named = tools.get(reference);
    if (!named) return undefined;
    const known = targets.get(named) ?? { name: named.advertised, target: targetOf(named) };
    targets.set(named, known);
    return known;
  };
};

/** Later entries replace earlier ones: names of overrides first, and longer names of workloads last. */
const byReference = (routed: readonly Named[]): ReadonlyMap<string, Named> => {
  const sorted = routed.toSorted((a, b) => a.backend.length - b.backend.length || compareText(a.backend, b.backend));
  return new Map([
    ...sorted.map((each) => [`${each.backend}.${each.name}`, each] as const),
    ...sorted.map((each) => [`${each.backend}.${each.item.key}`, each] as const),
  ]);
};

/** A composite tool that is not offered, since tools that it calls are missing. */
export interface IncompleteTool {
  readonly name: string;
  /** As its steps name them. */
  readonly missing: readonly string[];
}

/** A composite tool whose calls are not what the tools that it calls take. */
export interface MismatchedTool {
  readonly name: string;
  /** A line each. */
  readonly problems: readonly string[];
}

export interface ResolvedOwnTools {
  /** With the JSON text that follows from the tools that each uses. */
  readonly complete: readonly OwnTool[];
  readonly incomplete: readonly IncompleteTool[];
  /** The tools that each calls, by the name of the tool. */
  readonly used: ReadonlyMap<string, readonly StepTool[]>;
}

/** docs/composite-tools.md "Who sees it": a composite tool of which a tool is missing is dropped alone. */
export const resolveOwnTools = (ownTools: readonly OwnTool[], find: FindStepTool): ResolvedOwnTools => {
  const complete: OwnTool[] = [];
  const incomplete: IncompleteTool[] = [];
  const used = new Map<string, readonly StepTool[]>();
  for (const tool of ownTools) {
    const { name, uses } = tool;
    const missing = (uses?.tools ?? []).filter((reference) => !find(reference));
    if (!uses) complete.push(tool);
    else if (missing.length > 0) incomplete.push({ name, missing });
    else {
      const tools = uses.tools.flatMap((reference) => find(reference) ?? []);
      complete.push({ ...tool, bytes: uses.entry(tools.map(({ target }) => target)) });
      used.set(name, tools);
    }
  }
  return { complete, incomplete, used };
};

/** Composite tools whose calls are not what the tools take. It reads the schema of each of these tools. */
export const mismatchedTools = (complete: readonly OwnTool[], find: FindStepTool): readonly MismatchedTool[] =>
  complete.flatMap(({ name, uses }) => {
    const problems = uses?.problems((reference) => find(reference)?.target) ?? [];
    return problems.length > 0 ? [{ name, problems }] : [];
  });

/** Whoever may not call one of the tools that a composite tool calls does not see it, and cannot call it. */
export const withUsedTools = (by: Visibility, used: ResolvedOwnTools['used']): Visibility =>
  used.size === 0
    ? by
    : {
        key: by.key,
        isVisible: (entry, kind) => {
          if (!by.isVisible(entry, kind)) return false;
          if (kind !== 'tools' || entry.target.kind !== 'workflow') return true;
          return (used.get(entry.name) ?? []).every((tool) => by.isVisible(tool, 'tools'));
        },
      };
