import { LIST_KINDS, type ListKind } from '../listed.ts';
import type { Listed } from './name-table.ts';
import type { ListEntry, ListPages } from './pages.ts';
import { recent, type RecentBounds } from '../recent.ts';

/** What some callers may see: in lists, and by its name. */
export interface Visibility {
  /** The class of callers: those of one key see the same under the same policies (`Gate.policies`). */
  readonly key: string;
  readonly isVisible: (entry: Pick<ListEntry, 'name' | 'target'>, kind: ListKind) => boolean;
}

/** The list that a name stands in; the URI of a resource may be made from a template, too. */
export const LIST_OF: Readonly<Record<Listed, ListKind>> = { tool: 'tools', prompt: 'prompts', resource: 'resources' };

export type AllPages = Readonly<Record<ListKind, ListPages>>;

const MIB = 1024 * 1024;

/** Classes of callers whose lists are kept, and the bytes of all of them. */
const BOUNDS: RecentBounds = { count: 1_000, bytes: 32 * MIB };

/** The lists of each class of callers, as bytes that are made once. */
export const visibleLists = (bounds = BOUNDS): ((lists: AllPages, visibility: Visibility | undefined) => AllPages) => {
  const known = recent<AllPages>(bounds);
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
    known.set(key, made, bytesOf(made));
    return made;
  };
};

/** `visibleLists` under the policies in force: what was made under others is forgotten. To be asked before the caller's visibility is. */
export const visibleUnder = (policies: () => unknown): (() => ReturnType<typeof visibleLists>) => {
  let of = policies();
  let visible = visibleLists();
  return () => {
    const current = policies();
    if (current !== of) [of, visible] = [current, visibleLists()];
    return visible;
  };
};

const bytesOf = (lists: AllPages): number =>
  LIST_KINDS.flatMap((kind) => lists[kind].entries).reduce((sum, { bytes }) => sum + bytes.length, 0);
