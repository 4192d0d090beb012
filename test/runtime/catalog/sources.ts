import type { BackendTarget, Target } from '../../../runtime/call/target.ts';
import type { AggregationSettings } from '../../../runtime/catalog/settings.ts';
import type { Catalog, WorkloadTools } from '../../../runtime/catalog/index.ts';
import type { SourceBackend } from '../../../runtime/catalog/catalog.ts';
import { readObject, skipValue } from '../../../runtime/json/bytes.ts';
import type { ListedItem, ListKind, Lists } from '../../../runtime/mcp/lists.ts';

const KEYS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const;

/** An entry of a list; `text` is its key, or the JSON text of the whole entry. */
export const item = (kind: ListKind, text: string): ListedItem => {
  const key = KEYS[kind];
  const bytes = Buffer.from(text.startsWith('{"') ? text : `{${JSON.stringify(key)}:${JSON.stringify(text)}}`);
  let keySpan = { start: 0, end: 0 };
  readObject(bytes, 0, (member, start) => {
    const end = skipValue(bytes, start);
    if (member === key) keySpan = { start, end };
    return end;
  });
  return { key: JSON.parse(bytes.toString('utf8', keySpan.start, keySpan.end)) as string, bytes, keySpan };
};

/** Keys or JSON texts. */
type Given = Partial<Record<ListKind, readonly string[]>>;

export const lists = ({ tools = [], prompts = [], resources = [], resourceTemplates = [] }: Given): Lists => ({
  tools: tools.map((text) => item('tools', text)),
  prompts: prompts.map((text) => item('prompts', text)),
  resources: resources.map((text) => item('resources', text)),
  resourceTemplates: resourceTemplates.map((text) => item('resourceTemplates', text)),
});

export const source = (name: string, given: Given, isListed = true): SourceBackend => ({
  name,
  isListed,
  lists: lists(given),
});

/** Tools only. */
export const backend = (name: string, tools: readonly string[], isListed = true): SourceBackend =>
  source(name, { tools }, isListed);

type WorkloadInput = Partial<Omit<WorkloadTools, 'overrides'>> & {
  readonly overrides?: Readonly<Record<string, object>>;
};

interface SettingsInput {
  readonly conflictResolution?: AggregationSettings['naming']['conflictResolution'];
  readonly prefixFormat?: string;
  readonly priorityOrder?: readonly string[];
  readonly excludeAllTools?: boolean;
  readonly tools?: Readonly<Record<string, WorkloadInput>>;
}

export const settings = (input: SettingsInput = {}): AggregationSettings => ({
  naming: {
    conflictResolution: input.conflictResolution ?? 'prefix',
    prefixFormat: input.prefixFormat ?? '{workload}_',
    priorityOrder: input.priorityOrder ?? [],
  },
  excludeAllTools: input.excludeAllTools ?? false,
  tools: new Map(
    Object.entries(input.tools ?? {}).map(([name, { overrides, ...rest }]) => [
      name,
      { excludeAll: false, ...rest, overrides: new Map(Object.entries(overrides ?? {})) },
    ]),
  ),
});

export interface Page {
  readonly entries: readonly Readonly<Record<string, unknown>>[];
  readonly nextCursor?: string;
}

export const page = (catalog: Catalog, kind: ListKind = 'tools', cursor?: string): Page => {
  const { nextCursor, ...rest } = JSON.parse(catalog.lists[kind].page(cursor).toString()) as Record<string, unknown>;
  const entries = rest[kind] as Page['entries'];
  return typeof nextCursor === 'string' ? { entries, nextCursor } : { entries };
};

/** The keys of a list's first page. */
export const names = (catalog: Catalog, kind: ListKind = 'tools'): readonly string[] =>
  page(catalog, kind).entries.map((entry) => entry[KEYS[kind]] as string);

/** Where a name leads, of one that leads to a backend. */
export const atBackend = (target: Target | undefined): BackendTarget | undefined => {
  if (target === undefined || target.kind === 'backend') return target;
  throw new Error(`a ${target.kind}`);
};
