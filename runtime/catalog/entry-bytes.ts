import { splice } from '../json/index.ts';
import type { ListedItem } from '../mcp/index.ts';
import type { Named } from './candidate.ts';
import type { ToolOverride } from './settings.ts';
import { editTool } from './tool-edits.ts';

/** Makes the JSON text of an entry as clients get it: with its advertised name and the override applied. */
export type EntryBytes = (named: Named) => Buffer;

/** Makes the JSON text anew at every call; `cachedEntryBytes` makes it once. */
export const entryBytes: EntryBytes = (named) => {
  const { item, advertised, override } = named;
  if (override) return editTool(named, advertised);
  return advertised === item.key
    ? item.bytes
    : splice(item.bytes, item.keySpan, Buffer.from(JSON.stringify(advertised)));
};

interface CachedBytes {
  readonly advertised: string;
  readonly override: ToolOverride | undefined;
  readonly bytes: Buffer;
}

/** Makes the bytes of each entry once, however many catalogs it is part of. */
export const cachedEntryBytes = (): EntryBytes => {
  const known = new WeakMap<ListedItem, CachedBytes>();
  return (named) => {
    const { item, advertised, override } = named;
    const before = known.get(item);
    if (before?.advertised === advertised && before.override === override) return before.bytes;
    const bytes = entryBytes(named);
    known.set(item, { advertised, override, bytes });
    return bytes;
  };
};
