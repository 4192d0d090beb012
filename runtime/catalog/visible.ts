import { LIST_KINDS, type ListKind } from '../listed.ts';
import type { ListEntry, ListPages } from './pages.ts';

/** What some callers may see of the lists. */
export interface Visibility {
  /** The class of callers: those of one key see the same, as long as the rules that made it stay. */
  readonly key: string;
  readonly isVisible: (entry: ListEntry, kind: ListKind) => boolean;
}

type ListsOf = Readonly<Record<ListKind, ListPages>>;

/** Classes kept of one set of lists; the oldest go. */
const MAX_CLASSES = 100;

/** The lists of each class of callers, as bytes that are made once. */
export const visibleLists = (): ((lists: ListsOf, visibility: Visibility | undefined) => ListsOf) => {
  const known = new WeakMap<ListsOf, Map<string, ListsOf>>();
  return (lists, visibility) => {
    if (!visibility) return lists;
    const classes = known.get(lists) ?? new Map<string, ListsOf>();
    known.set(lists, classes);
    const before = classes.get(visibility.key);
    if (before) return before;
    const made = Object.fromEntries(
      LIST_KINDS.map((kind) => [kind, lists[kind].only(visibility.isVisible)]),
    ) as ListsOf;
    classes.set(visibility.key, made);
    const [oldest] = classes.keys();
    if (classes.size > MAX_CLASSES && oldest !== undefined) classes.delete(oldest);
    return made;
  };
};
