import { compareText } from '../text.ts';
import type { ListKind, Lists } from '../mcp/index.ts';
import { byBackend, type Candidate, type Named } from './candidate.ts';
import type { UnresolvedName } from './conflict-rules/rule.ts';
import { conflictRule } from './conflict-rules.ts';
import { entryBytes, type EntryBytes } from './entry-bytes.ts';
import { hiddenNames, splitHidden, type UnmatchedSetting } from './hiding.ts';
import { nameTable, type Names, type NameTable, resourceFinder, targetOf, targetsOf } from './name-table.ts';
import type { OwnTool } from './own-tool.ts';
import { type ListEntry, listPages, type ListPages, type PageCache } from './pages.ts';
import type { AggregationSettings } from './settings.ts';
import {
  type FindStepTool,
  type IncompleteTool,
  type MismatchedTool,
  mismatchedTools,
  type ResolvedOwnTools,
  resolveOwnTools,
  stepTools,
} from './step-tools.ts';

export interface SourceBackend {
  readonly name: string;
  /**
   * Whether its entries are offered in lists. A backend that is down keeps its names: calls get a clear error, and no
   * name moves when the backend recovers.
   */
  readonly isListed: boolean;
  readonly lists: Lists;
}

/** What is offered at one moment: frozen, and replaced as a whole when anything in it changes. */
export interface Catalog {
  /** Names a client may use. */
  readonly offered: NameTable;
  /** Names a step of a workflow may use: the offered ones and the hidden ones. */
  readonly routable: NameTable;
  /**
   * The name in `routable` of a tool, by the backend's own name for it; undefined where the tool has lost its name or
   * does not exist.
   */
  readonly routableName: (backend: string, tool: string) => string | undefined;
  /** The tool of a backend that a step of a workflow calls. */
  readonly stepTool: FindStepTool;
  /** The tools that each composite tool calls, by its name. */
  readonly usedTools: ResolvedOwnTools['used'];
  /** Composite tools that are not offered, since tools are missing. */
  readonly incomplete: readonly IncompleteTool[];
  /**
   * Composite tools whose calls are not what the tools that they call take. Found on first use: it reads the schemas of
   * these tools, and only the shared catalog is asked.
   */
  readonly mismatched: () => readonly MismatchedTool[];
  /** What is listed to clients. */
  readonly lists: Readonly<Record<ListKind, ListPages>>;
  /** All that is offered: the same value as `lists`, unless some tools are listed alone. */
  readonly all: Readonly<Record<ListKind, ListPages>>;
  readonly collisions: readonly Collision[];
  /** Contested names under rule `manual`, which no tool gets. */
  readonly unresolved: readonly UnresolvedName[];
  readonly unmatched: readonly UnmatchedSetting[];
  /** Listed tools whose names common clients refuse. */
  readonly unusual: readonly UnusualName[];
}

/** A backend's own part of a name is never rewritten (docs/decisions.md "Names of tools"). */
export interface UnusualName {
  readonly name: string;
  readonly backend: string;
}

/** An entry that lost its name to an earlier one. */
export interface Collision {
  readonly kind: ListKind;
  readonly name: string;
  /** A backend, or the target kind of a tool that no backend lists; so is `lostBy`. */
  readonly keptBy: string;
  readonly lostBy: string;
}

export interface BuildOptions {
  /** Where two have one name, the first keeps it. */
  readonly ownTools?: readonly OwnTool[];
  /** Makes the page cache of each list. Default: pages live as long as the catalog. */
  readonly newPageCache?: (() => PageCache) | undefined;
  readonly entryBytes?: EntryBytes;
}

/**
 * Overrides, then filters, then conflicts (docs/decisions.md "Order of the steps"), with the backends in the order of
 * their names throughout.
 */
export const buildCatalog = (
  sources: readonly SourceBackend[],
  settings: AggregationSettings,
  { ownTools = [], newPageCache, entryBytes: bytesOf = entryBytes }: BuildOptions = {},
): Catalog => {
  const backends = [...sources].sort((a, b) => compareText(a.name, b.name));
  const rule = conflictRule(settings.naming);
  const candidates = toolCandidates(backends, settings);
  const { visible, hidden, unmatched } = splitHidden(backends, settings, { candidates, namesOf: rule.namesOf });
  const resolved = rule.tools(visible);
  const tools = keepFirst('tools', resolved.named);
  const contested = resolved.unresolved.map(({ name }) => name);
  const taken = [...tools.kept.map(({ advertised }) => advertised), ...contested];
  const routed = [...tools.kept, ...hiddenNames(hidden, rule, taken)];
  const prompts = keepFirst('prompts', rule.prompts(candidatesOf(backends, 'prompts')).named);
  const [resources, templates] = (['resources', 'resourceTemplates'] as const).map((kind) =>
    keepFirst(kind, candidatesOf(backends, kind).map(underOwnName)),
  ) as [Kept, Kept];
  const stepTool = stepTools(routed);
  const { complete, incomplete, used: usedTools } = resolveOwnTools(ownTools, stepTool);
  let mismatched: readonly MismatchedTool[] | undefined;
  const { shown, own, collisions } = withOwnTools(tools.kept, complete);
  const alone = own.filter(({ isAlone }) => isAlone);
  const [offered, routable] = tablesOf({ shown, routed, own, prompts, resources, templates, backends });
  const pagesOf = (kind: ListKind, named: readonly Named[], more: readonly OwnTool[] = []): ListPages => {
    const entries = named
      .filter(({ isListed }) => isListed)
      .map((each): ListEntry => ({ name: each.advertised, target: targetOf(each), bytes: bytesOf(each) }));
    const all = more.length === 0 ? entries : [...entries, ...more].sort((a, b) => compareText(a.name, b.name));
    return listPages(kind, all, newPageCache?.());
  };
  const all = Object.freeze({
    tools: pagesOf('tools', shown, own),
    prompts: pagesOf('prompts', prompts.kept),
    resources: pagesOf('resources', resources.kept),
    resourceTemplates: pagesOf('resourceTemplates', templates.kept),
  });
  return Object.freeze({
    offered,
    routable,
    routableName: routableNames(routed),
    stepTool,
    usedTools,
    incomplete,
    mismatched: () => (mismatched ??= mismatchedTools(complete, stepTool)),
    lists: alone.length === 0 ? all : Object.freeze({ ...all, tools: pagesOf('tools', [], alone) }),
    all,
    collisions: [
      tools.collisions,
      collisions,
      ...[prompts, resources, templates].map((each) => each.collisions),
    ].flat(),
    unresolved: resolved.unresolved.toSorted((a, b) => compareText(a.name, b.name)),
    unmatched,
    unusual: shown
      .filter(({ advertised, isListed }) => isListed && !USUAL_NAME.test(advertised))
      .map(({ advertised: name, backend }) => ({ name, backend })),
  });
};

/** Names that all clients accept: those of model providers are the strictest. */
const USUAL_NAME = /^[A-Za-z0-9_-]+$/;

const candidatesOf = (backends: readonly SourceBackend[], kind: ListKind): readonly Candidate[] =>
  backends.flatMap(({ name: backend, isListed, lists }) =>
    lists[kind].map((item) => ({ backend, isListed, item, name: item.key })),
  );

/** The tools of all backends, under the names that overrides give them. */
export const toolCandidates = (
  backends: readonly SourceBackend[],
  { tools }: AggregationSettings,
): readonly Candidate[] =>
  candidatesOf(backends, 'tools').map((candidate) => {
    const override = tools.get(candidate.backend)?.overrides.get(candidate.item.key);
    return override ? { ...candidate, override, name: override.name ?? candidate.name } : candidate;
  });

/** docs/decisions.md "Resources keep their URI" */
const underOwnName = (candidate: Candidate): Named => ({ ...candidate, advertised: candidate.item.key });

interface Kept {
  /** Sorted by name, and no name twice. */
  readonly kept: readonly Named[];
  readonly collisions: readonly Collision[];
}

/**
 * Where names are equal, the earlier backend keeps the name, whatever the order in which backends list
 * (docs/decisions.md "Determinism").
 */
const keepFirst = (kind: ListKind, named: readonly Named[]): Kept => {
  const holders = new Map<string, Named>();
  const collisions: Collision[] = [];
  for (const each of byBackend(named)) {
    const holder = holders.get(each.advertised);
    if (holder) collisions.push({ kind, name: each.advertised, keptBy: holder.backend, lostBy: each.backend });
    else holders.set(each.advertised, each);
  }
  return { kept: [...holders.values()].sort((a, b) => compareText(a.advertised, b.advertised)), collisions };
};

/**
 * docs/decisions.md "Determinism": of tools of one name the first keeps it. Tools that are listed alone come before
 * those of backends, other own tools after them, so that a composite tool whose name is taken is dropped alone.
 */
const withOwnTools = (
  shown: readonly Named[],
  ownTools: readonly OwnTool[],
): {
  readonly shown: readonly Named[];
  readonly own: readonly OwnTool[];
  readonly collisions: readonly Collision[];
} => {
  if (ownTools.length === 0) return { shown, own: [], collisions: [] };
  const holders = new Map<string, string>();
  const collisions: Collision[] = [];
  const takes = (name: string, by: string): boolean => {
    const keptBy = holders.get(name);
    if (keptBy === undefined) holders.set(name, by);
    else collisions.push({ kind: 'tools', name, keptBy, lostBy: by });
    return keptBy === undefined;
  };
  const takesOwn = ({ name, target }: OwnTool): boolean => takes(name, target.kind);
  const alone = ownTools.filter(({ isAlone }) => isAlone).filter(takesOwn);
  const kept = shown.filter(({ advertised, backend }) => takes(advertised, backend));
  const others = ownTools.filter(({ isAlone }) => !isAlone).filter(takesOwn);
  return { shown: kept, own: [...alone, ...others], collisions };
};

const tablesOf = (of: {
  readonly shown: readonly Named[];
  /** Tools under the names that steps of workflows use. */
  readonly routed: readonly Named[];
  readonly own: readonly OwnTool[];
  readonly prompts: Kept;
  readonly resources: Kept;
  readonly templates: Kept;
  readonly backends: readonly SourceBackend[];
}): readonly [offered: NameTable, routable: NameTable] => {
  const prompts = targetsOf(of.prompts.kept);
  const resource = resourceFinder({
    resources: of.resources.kept,
    templates: of.templates.kept,
    owners: new Set(of.backends.filter(hasResources).map(({ name }) => name)),
  });
  const own: Names = new Map(of.own.map(({ name, target }) => [name, target]));
  // A hidden tool keeps its name for steps, even where clients see a composite tool of that name.
  const offered: Names = new Map([...targetsOf(of.shown), ...own]);
  const routable: Names = new Map([...own, ...targetsOf(of.routed)]);
  return [nameTable(offered, prompts, resource), nameTable(routable, prompts, resource)];
};

/** Built on first use, as most catalogs are never asked. */
const routableNames = (routed: readonly Named[]): Catalog['routableName'] => {
  let names: ReadonlyMap<string, string> | undefined;
  const keyOf = (backend: string, tool: string): string => `${backend}\n${tool}`;
  return (backend, tool) => {
    names ??= new Map(routed.map((each) => [keyOf(each.backend, each.item.key), each.advertised]));
    return names.get(keyOf(backend, tool));
  };
};

const hasResources = ({ isListed, lists }: SourceBackend): boolean =>
  isListed && lists.resources.length + lists.resourceTemplates.length > 0;
