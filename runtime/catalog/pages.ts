import type { Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { ListKind } from '../mcp/index.ts';
import { lruCache, type LruBounds } from '../process/index.ts';

/** Entries of one page of a list (docs/decisions.md "What initialize says"). */
export const PAGE_SIZE = 1_000;

/** An entry of a list as clients get it. */
export interface ListEntry {
  /** The advertised name, URI or URI template. */
  readonly name: string;
  readonly target: Target;
  /** JSON text. */
  readonly bytes: Buffer;
  /** As in `OwnTool`. */
  readonly isAlone?: true;
  /** As in `OwnTool`. */
  readonly bytesFor?: ((offered: readonly ListEntry[]) => Buffer) | undefined;
}

/** One list, cut into pages. */
export interface ListPages {
  readonly size: number;
  /** JSON text of the result of a list request. Throws `invalid_params` for a cursor that this gateway did not make. */
  readonly page: (cursor: string | undefined) => Buffer;
  /** The pages of the list with only the entries that `isVisible` accepts. */
  readonly only: (isVisible: (entry: ListEntry, kind: ListKind) => boolean) => ListPages;
  /** Whether texts and targets of all entries are equal: the visibility of an entry depends on its target, too. */
  readonly isSameAs: (other: ListPages) => boolean;
  readonly entries: readonly ListEntry[];
}

/** The pages of one list that were made, by the index of their first entry. */
export interface PageCache {
  readonly get: (start: number) => Buffer | undefined;
  readonly set: (start: number, page: Buffer) => void;
}

/** Makes page caches of many lists that share these bounds. */
export const pageCaches = (bounds: LruBounds): (() => PageCache) => {
  const known = lruCache<Buffer>(bounds);
  let last = 0;
  return () => {
    last += 1;
    const list = last;
    return {
      get: (start) => known.get(`${list} ${start}`),
      set: (start, page) => known.set(`${list} ${start}`, page, page.length),
    };
  };
};

/**
 * Pages of a list sorted by name, as JSON text. A cursor holds the last name of the page before, so it means the same
 * at every replica and after the list has changed.
 */
export const listPages = (kind: ListKind, entries: readonly ListEntry[], whole: PageCache = new Map()): ListPages => {
  const pageFrom = (start: number): Buffer => {
    const known = whole.get(start);
    if (known) return known;
    const bytes = serialise(kind, entries, start);
    // Only regular pages are kept: a cursor from another snapshot may begin anywhere.
    if (start % PAGE_SIZE === 0) whole.set(start, bytes);
    return bytes;
  };
  return {
    size: entries.length,
    entries,
    page: (cursor) => pageFrom(cursor === undefined ? 0 : firstAfter(entries, readCursor(cursor))),
    only: (isVisible) =>
      listPages(
        kind,
        entries.filter((entry) => isVisible(entry, kind)),
      ),
    isSameAs: (other) => entries.length === other.entries.length && entries.every(isSameEntry(other.entries)),
  };
};

const isSameEntry =
  (others: readonly ListEntry[]) =>
  ({ name, target, bytes }: ListEntry, index: number): boolean => {
    const other = others[index];
    if (other === undefined || name !== other.name || !isSameTarget(target, other.target)) return false;
    return bytes === other.bytes || bytes.equals(other.bytes);
  };

/** Own tools are compared by kind only: their name is that of the entry. */
const isSameTarget = (a: Target, b: Target): boolean =>
  a.kind === b.kind && (a.kind !== 'backend' || b.kind !== 'backend' || a.backend === b.backend);

const serialise = (key: string, entries: readonly ListEntry[], start: number): Buffer => {
  const page = entries.slice(start, start + PAGE_SIZE);
  const last = page.at(-1);
  const next =
    last && start + PAGE_SIZE < entries.length ? `,"nextCursor":${JSON.stringify(writeCursor(last.name))}` : '';
  const items = page.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [comma, bytes]));
  return Buffer.concat([Buffer.from(`{${JSON.stringify(key)}:[`), ...items, Buffer.from(`]${next}}`)]);
};

const comma = Buffer.from(',');

const firstAfter = (entries: readonly ListEntry[], name: string): number => {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.name ?? '') <= name) low = middle + 1;
    else high = middle;
  }
  return low;
};

const MARK = 'after:';

const writeCursor = (name: string): string => Buffer.from(MARK + name).toString('base64url');

const readCursor = (cursor: string): string => {
  const text = Buffer.from(cursor, 'base64url').toString();
  if (!text.startsWith(MARK) || writeCursor(text.slice(MARK.length)) !== cursor) {
    throw new VmcpError('invalid_params', 'the cursor is not one of ours');
  }
  return text.slice(MARK.length);
};
