import { splice } from '../json-bytes.ts';
import type { ListedItem } from '../listed.ts';
import type { Named } from './candidate.ts';
import type { ToolOverride } from './settings.ts';
import { editTool } from './tool-edits.ts';

/** JSON text of an entry as it goes out: under its advertised name, and as an override wants it. */
export type EntryBytes = (named: Named) => Buffer;

export const entryBytes: EntryBytes = (named) => {
  const { item, advertised, override } = named;
  if (override) return editTool(named, advertised);
  return advertised === item.key
    ? item.bytes
    : splice(item.bytes, item.keySpan, Buffer.from(JSON.stringify(advertised)));
};

interface Made {
  readonly advertised: string;
  readonly override: ToolOverride | undefined;
  readonly bytes: Buffer;
}

/** Makes the bytes of each entry once, however many catalogs it is part of. */
export const rememberedBytes = (): EntryBytes => {
  const known = new WeakMap<ListedItem, Made>();
  return (named) => {
    const { item, advertised, override } = named;
    const before = known.get(item);
    if (before?.advertised === advertised && before.override === override) return before.bytes;
    const bytes = entryBytes(named);
    known.set(item, { advertised, override, bytes });
    return bytes;
  };
};
