import { LIST_KINDS, type ListKind } from '../mcp/index.ts';
import type { Listed } from './name-table.ts';
import type { ListEntry, ListPages } from './pages.ts';
import { lruCache, type LruBounds } from '../process/index.ts';

/** What a class of callers may see, in lists and by name. */
export interface Visibility {
  /** The class of callers: callers with equal keys see the same under the same policies (`Gate.policies`). */
  readonly key: string;
  readonly isVisible: (entry: Pick<ListEntry, 'name' | 'target'>, kind: ListKind) => boolean;
}

/** The list that holds a name; the URI of a resource may match a template instead. */
export const LIST_OF: Readonly<Record<Listed, ListKind>> = { tool: 'tools', prompt: 'prompts', resource: 'resources' };

/** The pages of all four lists. */
export type AllPages = Readonly<Record<ListKind, ListPages>>;

const MIB = 1024 * 1024;

/** Classes of callers whose lists are kept, and the bytes of all of them. */
const BOUNDS: LruBounds = { count: 1_000, bytes: 32 * MIB };

/** The lists of each class of callers, made once and cached. */
export const visibleLists = (
  bounds = BOUNDS,
  weigh = bytesOf,
): ((lists: AllPages, visibility: Visibility | undefined) => AllPages) => {
  const known = lruCache<AllPages>(bounds);
  const numbers = new WeakMap<AllPages, number>();
  let last = 0;
  const numberOf = (lists: AllPages): number => {
    const number = numbers.get(lists) ?? (last += 1);
    numbers.set(lists, number);
    return number;
  };
  return (lists, visibility) => {
    if (!visibility) return lists;
    const key = `${numberOf(lists)} ${visibility.key}`;
    const before = known.get(key);
    if (before) return before;
    const made = Object.fromEntries(
      LIST_KINDS.map((kind) => [kind, lists[kind].only(visibility.isVisible)]),
    ) as AllPages;
    known.set(key, made, weigh(made));
    return made;
  };
};

/**
 * `visibleLists` under the policies in force: lists made under earlier policies are dropped. To be called before the
 * caller's visibility is determined.
 */
export const visibleUnder = (
  policies: () => unknown,
  weigh?: (lists: AllPages) => number,
): (() => ReturnType<typeof visibleLists>) => {
  let of = policies();
  let visible = visibleLists(BOUNDS, weigh);
  return () => {
    const current = policies();
    if (current !== of) [of, visible] = [current, visibleLists(BOUNDS, weigh)];
    return visible;
  };
};

function bytesOf(lists: AllPages): number {
  return LIST_KINDS.flatMap((kind) => lists[kind].entries).reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** Bytes of a reference to an entry, with what a list takes besides. */
const REFERENCE_BYTES = 16;

/** The memory of lists whose pages are not kept with them: their entries are shared. */
export const withoutPages = (lists: AllPages): number =>
  LIST_KINDS.reduce((sum, kind) => sum + lists[kind].entries.length * REFERENCE_BYTES, 0);
