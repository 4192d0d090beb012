import { clipped } from '../../text.ts';
import { VmcpError } from '../../errors.ts';
import {
  isArray,
  isObject,
  isString,
  readArray,
  readObject,
  readString,
  skipValue,
  type Span,
} from '../../json/index.ts';
import type { ListedItem, ListKind } from '../../mcp/index.ts';
import { invalidMemberOf } from './list-entry.ts';
import { readServerMessage } from '../messages/server-message.ts';

/** The request for each list, and the member that names its entries. */
const REQUESTS = {
  tools: { method: 'tools/list', key: 'name', entry: 'tool' },
  prompts: { method: 'prompts/list', key: 'name', entry: 'prompt' },
  resources: { method: 'resources/list', key: 'uri', entry: 'resource' },
  resourceTemplates: { method: 'resources/templates/list', key: 'uriTemplate', entry: 'resource template' },
} as const satisfies Readonly<Record<ListKind, { method: string; key: string; entry: string }>>;

export interface ListBounds {
  readonly pages: number;
  readonly entries: number;
  /** All pages together. */
  readonly bytes: number;
  readonly entryBytes: number;
}

/** Bounds of one list of one backend; real servers stay far below. */
export const LIST_BOUNDS: ListBounds = {
  pages: 1_000,
  entries: 5_000,
  bytes: 8 * 1024 * 1024,
  entryBytes: 256 * 1024,
};

/** Sends one request and gives the backend's response; `params` is JSON text. */
export type Ask = (method: string, params: string) => Promise<Buffer>;

/** The backend refused the list with a JSON-RPC error: it is alive and may serve everything else. */
export class ListRefusedError extends VmcpError {}

interface Wanted {
  readonly backend: string;
  readonly kind: ListKind;
  /** Whether the backend is of 2026-07-28. */
  readonly isModern?: boolean;
  /** Called for each entry that cannot be used. */
  readonly onLeftOut?: (what: string) => void;
}

/**
 * Follows every page of one of a backend's lists. A list that is too long, or whose cursors run in circles, fails as a
 * whole: a list never loses pages.
 */
export const readList = async (wanted: Wanted, ask: Ask, bounds = LIST_BOUNDS): Promise<readonly ListedItem[]> => {
  const reading: Reading = { ...wanted, bounds, items: [] };
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < bounds.pages; page += 1) {
    const params = cursor === undefined ? '{}' : `{"cursor":${JSON.stringify(cursor)}}`;
    const answer = await ask(REQUESTS[wanted.kind].method, params);
    bytes += answer.length;
    if (bytes > bounds.bytes) throw tooLong(wanted, `more than ${bounds.bytes} bytes`);
    cursor = readPage(reading, answer);
    if (cursor === undefined) return reading.items;
    if (seen.has(cursor)) throw badList(wanted, 'repeated cursor');
    seen.add(cursor);
  }
  throw tooLong(wanted, `more than ${bounds.pages} pages`);
};

const listOf = ({ backend, kind }: Wanted): string => `backend "${backend}" gave a list of ${REQUESTS[kind].entry}s`;

const badList = (wanted: Wanted, detail: string): VmcpError =>
  new VmcpError('backend_unavailable', `${listOf(wanted)} that cannot be used`, { detail });

const tooLong = (wanted: Wanted, what: string): VmcpError =>
  new VmcpError('backend_unavailable', `${listOf(wanted)} with ${what}`);

interface Reading extends Wanted {
  readonly bounds: ListBounds;
  readonly items: ListedItem[];
}

/** Adds the page's entries to those read and returns its cursor. */
const readPage = (reading: Reading, bytes: Buffer): string | undefined => {
  const message = readServerMessage(bytes);
  if (message?.kind === 'error')
    throw new ListRefusedError('backend_unavailable', `${listOf(reading)} that cannot be used`, {
      detail: 'an error instead of a list',
    });
  if (message?.kind !== 'response') throw badList(reading, 'no answer');
  let cursor: string | undefined;
  let hasList = false;
  readObject(bytes, message.result.start, (key, start) => {
    if (key === reading.kind && isArray(bytes, start)) {
      hasList = true;
      return readArray(bytes, start, (itemAt) => readItem(reading, bytes, itemAt));
    }
    const span = { start, end: skipValue(bytes, start) };
    if (key === 'nextCursor' && isString(bytes, span)) cursor = readString(bytes, span);
    return span.end;
  });
  if (!hasList) throw badList(reading, `no ${reading.kind} in the result`);
  return cursor;
};

/**
 * An invalid entry is left out, as clients would refuse the whole list. An entry with two names fails the list, as it
 * might be shown under the wrong name.
 */
const readItem = (reading: Reading, page: Buffer, start: number): number => {
  const { onLeftOut = () => {} } = reading;
  if (!isObject(page, start)) {
    onLeftOut(`${REQUESTS[reading.kind].entry} that is no object`);
    return skipValue(page, start);
  }
  const { bounds, items, kind } = reading;
  const { key: nameKey, entry } = REQUESTS[kind];
  let name: { text: string; span: Span } | undefined;
  let isNamed = false;
  const end = readObject(page, start, (key, valueStart) => {
    const span = { start: valueStart, end: skipValue(page, valueStart) };
    if (key.toLowerCase() === nameKey.toLowerCase()) {
      if (isNamed || key !== nameKey) throw badList(reading, `a ${nameKey} that can be read in two ways`);
      isNamed = true;
      if (isString(page, span))
        name = { text: readString(page, span), span: { start: span.start - start, end: span.end - start } };
    }
    return span.end;
  });
  if (end - start > bounds.entryBytes) throw tooLong(reading, `a ${entry} of more than ${bounds.entryBytes} bytes`);
  if (!name) {
    onLeftOut(`${entry} without ${nameKey}`);
    return end;
  }
  const flaw = invalidMemberOf(kind, page.subarray(start, end), reading.isModern === true);
  if (flaw !== undefined) {
    onLeftOut(`${entry} "${clipped(name.text, 64)}", for its ${clipped(flaw, 64)}`);
    return end;
  }
  if (items.length === bounds.entries) throw tooLong(reading, `more than ${bounds.entries} ${entry}s`);
  // A copy, so that one kept entry does not keep its whole page.
  items.push({ key: name.text, bytes: Buffer.from(page.subarray(start, end)), keySpan: name.span });
  return end;
};
