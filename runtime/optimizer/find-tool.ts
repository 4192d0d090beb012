import type { Call, Reply } from '../call/index.ts';
import { callerKey, unknownState } from '../call/index.ts';
import type { CallerCatalog } from '../catalog/index.ts';
import { ArgumentError, findArguments } from './arguments.ts';
import type { IndexedTools, ToolList } from './indexed-tools.ts';
import type { ToolEntry } from './read-tools.ts';
import type { Searched, Searching } from './searching.ts';
import { tokenFigures } from './token-figures.ts';
import { failedResult, resultReply } from './tool-result.ts';

export interface FindToolDeps {
  readonly indexed: IndexedTools;
  readonly search: Searching['search'];
  readonly listableFor: (call: Call) => Promise<CallerCatalog>;
}

/** Names offered where nothing was found. */
const MOST_NEAREST = 5;

/** Answers `find_tool`: with the whole definitions of tools that this very caller may be listed, best first. */
export const findTool = async (call: Call, { indexed, search, listableFor }: FindToolDeps): Promise<Reply> => {
  if (call.answered?.state !== undefined) throw unknownState();
  const { id } = call.request;
  try {
    const { text, server } = findArguments(call);
    const { all, listed } = await listableFor(call);
    await indexed.settled();
    const among = await (server === undefined
      ? indexed.selectionOf(all.tools)
      : indexed.selectionOfServer(all.tools, server));
    const searched = await search(text, among, callerKey(call.caller));
    const found = searched.hits.flatMap(({ tool: { name } }) => entryNamed(all.tools, name) ?? []);
    const nearest =
      found.length === 0 ? searched.nearest(await indexed.selectionOf(all.tools), MOST_NEAREST) : undefined;
    const ownBytes = listed.tools.entries.reduce((sum, { bytes, isAlone }) => sum + (isAlone ? bytes.length : 0), 0);
    const figures = tokenFigures(all.tools.entries, found, ownBytes);
    const content = contentOf(found, { ...said(searched), ...(nearest && { nearest }), token_metrics: figures });
    const block = `{"type":"text","text":${JSON.stringify(content)}}`;
    return resultReply(id, `{"content":[${block}],"structuredContent":${content}}`);
  } catch (error) {
    if (error instanceof ArgumentError) return resultReply(id, failedResult(error.message));
    throw error;
  }
};

const said = ({ search, degraded }: Searched) => ({ search, ...(degraded && { degraded }) });

/** Definitions are given as clients would be listed them, byte for byte. */
const contentOf = (found: readonly ToolEntry[], rest: object): string => {
  const tools = found.map(({ bytes }) => bytes.toString()).join(',');
  return `{"tools":[${tools}],${JSON.stringify(rest).slice(1)}`;
};

/** The entry of a name in a list, which is sorted by name. */
export const entryNamed = ({ entries }: ToolList, name: string): ToolEntry | undefined => {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.name ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return entries[low]?.name === name ? entries[low] : undefined;
};
