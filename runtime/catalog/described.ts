import { type ListEntry, listPages, type ListPages, pageCaches } from './pages.ts';
import type { AllPages } from './visible.ts';

/** Made once for each list of what is offered, as long as that list is in memory. */
const known = new WeakMap<ListPages, { readonly of: ListPages; readonly lists: AllPages }>();

/** What lists show, with the tools whose text depends on what else this caller is offered (`OwnTool.bytesFor`). */
export const described = (lists: AllPages, offered: AllPages): AllPages => {
  const { entries } = lists.tools;
  if (lists === offered || !entries.some(({ bytesFor }) => bytesFor)) return lists;
  const before = known.get(offered.tools);
  if (before?.of === lists.tools) return before.lists;
  const others = offered.tools.entries.filter(({ isAlone }) => !isAlone);
  const tools = listPages(
    'tools',
    entries.map((entry) => textFor(entry, others)),
  );
  const made = Object.freeze({ ...lists, tools });
  known.set(offered.tools, { of: lists.tools, lists: made });
  return made;
};

const textFor = (entry: ListEntry, others: readonly ListEntry[]): ListEntry =>
  entry.bytesFor ? { ...entry, bytes: entry.bytesFor(others) } : entry;

const others = new WeakMap<ListPages, ListPages>();

/** A page may hold thousands of tools, and there may be such a list for each class of callers. */
const newPageCache = pageCaches({ count: 1_000, bytes: 32 * 1024 * 1024 });

/** The tools without those that would be listed alone. */
export const withoutAlone = (list: ListPages): ListPages => {
  const { entries } = list;
  if (!entries.some(({ isAlone }) => isAlone)) return list;
  const before = others.get(list);
  if (before) return before;
  const rest = entries.filter(({ isAlone }) => !isAlone);
  const made = listPages('tools', rest, newPageCache());
  others.set(list, made);
  return made;
};
