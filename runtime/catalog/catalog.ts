import type { Target } from '../call.ts';
import { compareText } from '../compare-text.ts';
import { splice, type Span } from '../json-bytes.ts';
import type { ConflictRule } from './conflict-rules.ts';
import { listPages, type ListPages } from './pages.ts';

/** A tool as its backend listed it. */
export interface SourceTool {
  readonly name: string;
  /** JSON text of the whole tool. */
  readonly bytes: Buffer;
  readonly nameSpan: Span;
}

export interface SourceBackend {
  readonly name: string;
  /** Whether its tools are offered in lists. A backend that is down keeps its names: a call gets a clear error, and its recovery moves no name. */
  readonly isListed: boolean;
  readonly tools: readonly SourceTool[];
}

/** What is offered at one moment: frozen, and replaced as a whole when anything in it changes. */
export interface Catalog {
  /** Names a client may call. */
  readonly offered: ReadonlyMap<string, Target>;
  /** Names a step of a workflow may call: the offered ones and the hidden ones. */
  readonly routable: ReadonlyMap<string, Target>;
  readonly tools: ListPages;
  readonly collisions: readonly Collision[];
}

/** A tool that lost its name to an earlier backend. */
export interface Collision {
  readonly name: string;
  readonly keptBy: string;
  readonly lostBy: string;
}

interface NamedTool {
  readonly name: string;
  readonly backend: string;
  readonly isListed: boolean;
  readonly tool: SourceTool;
}

/** Filters nothing yet; names by `rule`, in the order of the backends' names, where the earlier one keeps a contested name. */
export const buildCatalog = (backends: readonly SourceBackend[], rule: ConflictRule): Catalog => {
  const kept = new Map<string, NamedTool>();
  const collisions: Collision[] = [];
  for (const named of inNameOrder(backends).flatMap((backend) => nameTools(backend, rule))) {
    const holder = kept.get(named.name);
    if (holder) collisions.push({ name: named.name, keptBy: holder.backend, lostBy: named.backend });
    else kept.set(named.name, named);
  }
  const inOrder = [...kept.values()].sort((a, b) => compareText(a.name, b.name));
  const targets = new Map(inOrder.map(({ name, backend, tool }) => [name, { backend, ownName: ownName(tool) }]));
  const listed = inOrder.filter(({ isListed }) => isListed);
  const tools = listPages(
    'tools',
    listed.map((named) => ({ name: named.name, bytes: renamed(named) })),
  );
  return Object.freeze({ offered: targets, routable: targets, tools, collisions });
};

const inNameOrder = (backends: readonly SourceBackend[]): SourceBackend[] =>
  [...backends].sort((a, b) => compareText(a.name, b.name));

const nameTools = ({ name: backend, isListed, tools }: SourceBackend, rule: ConflictRule): NamedTool[] =>
  tools.map((tool) => ({ name: rule.nameOf(backend, tool.name), backend, isListed, tool }));

const ownName = (tool: SourceTool): Buffer => tool.bytes.subarray(tool.nameSpan.start, tool.nameSpan.end);

const renamed = ({ name, tool }: NamedTool): Buffer =>
  splice(tool.bytes, tool.nameSpan, Buffer.from(JSON.stringify(name)));
