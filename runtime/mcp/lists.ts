import type { Span } from '../json/index.ts';

/** The four lists of MCP, by the key of their entries in a list result. */
export const LIST_KINDS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

/** The notification that a list has changed: MCP has one for resources and their templates together. */
export const LIST_CHANGED: Readonly<Record<ListKind, string>> = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
  resourceTemplates: 'notifications/resources/list_changed',
};

/** One entry of a list as its backend wrote it. */
export interface ListedItem {
  /** `name` of tools and prompts, `uri` of resources, `uriTemplate` of templates. */
  readonly key: string;
  /** JSON text of the whole entry. */
  readonly bytes: Buffer;
  /** Span of the key's value in `bytes`. */
  readonly keySpan: Span;
}

/** All four lists of one backend. */
export type Lists = Readonly<Record<ListKind, readonly ListedItem[]>>;
