import { isRefusal } from './errors.ts';
import { collectionPath, resourceOf } from './resources.ts';
import type { Resource, ResourceTable } from './resources.ts';
import { acceptOf, typed } from './selection.ts';
import type { Selection } from './selection.ts';
import type { Transport } from './transport.ts';
import { TooCostlyError } from '../threads/work-thread.ts';
import { isEndOfList, watchEvents } from './watch.ts';
import type { KubeObject } from '../object.ts';

export interface ObjectList {
  readonly items: readonly KubeObject[];
  /** Where a watch may go on. */
  readonly resourceVersion: string;
}

type Keep = (object: KubeObject) => KubeObject;
type List = (selection: Selection, signal: AbortSignal, keep?: Keep) => Promise<ObjectList>;

/**
 * Lists of which not all is kept are asked for as a stream, so that one object at a time is in memory, however large
 * they are (KEP-3157: from Kubernetes 1.34 on); from a server that does not know that, page by page.
 */
export const lister = (transport: Transport, table: ResourceTable): List => {
  let isStreamed = true;
  return async (selection, signal, keep) => {
    const resource = resourceOf(table, selection.kind);
    if (isStreamed && keep !== undefined) {
      try {
        return await streamed(transport, { resource, selection, keep }, signal);
      } catch (error) {
        // A 403 may mean that the operator may not watch; the plain list decides.
        if (!isRefusal(error)) throw error;
        if (error.status !== 403) isStreamed = false;
      }
    }
    return paged(transport, { resource, selection, keep: keep ?? ((object) => object) }, signal);
  };
};

interface Wanted {
  readonly resource: Resource;
  readonly selection: Selection;
  readonly keep: Keep;
}

const streamed = async (
  transport: Transport,
  { resource, selection, keep }: Wanted,
  signal: AbortSignal,
): Promise<ObjectList> => {
  const items = new Map<string, KubeObject>();
  for await (const event of watchEvents(transport, { resource, selection }, signal)) {
    const { namespace = '', name, resourceVersion = '' } = event.object.metadata;
    if (isEndOfList(event)) return { items: [...items.values()], resourceVersion };
    if (event.type === 'DELETED') items.delete(`${namespace}/${name}`);
    else if (event.type !== 'BOOKMARK') items.set(`${namespace}/${name}`, keep(event.object));
  }
  throw new Error(`the list of ${selection.kind} ended before it was complete`);
};

/** Objects of the first page, all of which are in memory at once: their author may have made each a megabyte. */
const FIRST_PAGE = 10;
/** Of the largest. */
const MAX_PAGE_OBJECTS = 500;
/** Characters of a page, about, as far as those before tell. */
const PAGE_CHARACTERS = 1024 * 1024;

interface RawList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly KubeObject[] | null;
}

const paged = async (transport: Transport, wanted: Wanted, signal: AbortSignal): Promise<ObjectList> => {
  const { atMost } = wanted.selection;
  const items: KubeObject[] = [];
  let limit = atMost ?? FIRST_PAGE;
  let next: string | undefined;
  for (;;) {
    try {
      const page = await pageOf(transport, wanted, { limit, continue: next }, signal);
      items.push(...page.items);
      next = page.metadata.continue;
      if (next === undefined || next === '' || atMost !== undefined) {
        return { items, resourceVersion: page.metadata.resourceVersion };
      }
      limit = nextLimit(limit, page);
    } catch (error) {
      // A page of large objects is read again in smaller pages.
      if (!(error instanceof TooCostlyError) || limit === 1) throw error;
      limit = Math.ceil(limit / SMALLER);
    }
  }
};

const SMALLER = 10;

/** Twice as many objects at most, and no more than the same size of text has room for. */
const nextLimit = (limit: number, { items, characters }: Page): number =>
  Math.max(
    1,
    Math.min(2 * limit, MAX_PAGE_OBJECTS, Math.floor((PAGE_CHARACTERS * Math.max(1, items.length)) / characters)),
  );

interface Page extends RawList {
  readonly items: readonly KubeObject[];
  readonly characters: number;
}

const pageOf = async (
  transport: Transport,
  { resource, selection, keep }: Wanted,
  part: { readonly limit: number; readonly continue: string | undefined },
  signal: AbortSignal,
): Promise<Page> => {
  const { labelSelector, fieldSelector } = selection;
  const { value, characters } = await transport.sized(
    {
      verb: 'list',
      kind: resource.kind,
      method: 'GET',
      path: collectionPath(resource, selection.namespace),
      query: { ...part, labelSelector, fieldSelector },
      accept: acceptOf(selection, 'PartialObjectMetadataList'),
    },
    signal,
  );
  const page = value as RawList;
  // Items of a list lack kind and apiVersion.
  return { ...page, characters, items: (page.items ?? []).map((item) => keep(typed(item, resource))) };
};
