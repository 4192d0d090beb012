import type { Span } from './json-bytes.ts';

/** The four lists of MCP, by the key of their entries in a list result. */
export const LIST_KINDS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

/** One entry of a list as its backend wrote it. */
export interface ListedItem {
  /** `name` of tools and prompts, `uri` of resources, `uriTemplate` of templates. */
  readonly key: string;
  /** JSON text of the whole entry. */
  readonly bytes: Buffer;
  /** Where the value of the key lies in `bytes`. */
  readonly keySpan: Span;
}

export type Lists = Readonly<Record<ListKind, readonly ListedItem[]>>;
