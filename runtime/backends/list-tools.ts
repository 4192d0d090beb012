import { VmcpError } from '../errors.ts';
import { isArray, isObject, isString, readArray, readObject, readString, skipValue, type Span } from '../json-bytes.ts';
import { readServerMessage } from './server-message.ts';

/** A tool as its backend wrote it. */
export interface ListedTool {
  readonly name: string;
  readonly bytes: Buffer;
  /** Where the value of `name` lies in `bytes`. */
  readonly nameSpan: Span;
}

export interface ListBounds {
  readonly pages: number;
  readonly tools: number;
  /** All pages together. */
  readonly bytes: number;
  readonly toolBytes: number;
}

/** What one backend may make us read and keep; real servers stay far below. */
export const LIST_BOUNDS: ListBounds = { pages: 1_000, tools: 5_000, bytes: 8 * 1024 * 1024, toolBytes: 256 * 1024 };

/** Sends one request and gives the backend's response; `params` is JSON text. */
export type Ask = (method: string, params: string) => Promise<Buffer>;

/**
 * Follows every page of a backend's `tools/list`. A list that is too long, or whose cursors run in circles, fails as a whole: a list
 * never loses pages.
 */
export const listTools = async (backend: string, ask: Ask, bounds = LIST_BOUNDS): Promise<readonly ListedTool[]> => {
  const tools: ListedTool[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < bounds.pages; page += 1) {
    const params = cursor === undefined ? '{}' : `{"cursor":${JSON.stringify(cursor)}}`;
    const answer = await ask('tools/list', params);
    bytes += answer.length;
    if (bytes > bounds.bytes) throw tooLong(backend, `more than ${bounds.bytes} bytes`);
    cursor = readPage({ backend, bounds, tools }, answer);
    if (cursor === undefined) return tools;
    if (seen.has(cursor)) throw badList(backend, 'repeated cursor');
    seen.add(cursor);
  }
  throw tooLong(backend, `more than ${bounds.pages} pages`);
};

const badList = (backend: string, detail: string): VmcpError =>
  new VmcpError('backend_unavailable', `backend "${backend}" gave a list of tools that cannot be used`, { detail });

const tooLong = (backend: string, what: string): VmcpError =>
  new VmcpError('backend_unavailable', `backend "${backend}" gave a list of tools with ${what}`);

interface Reading {
  readonly backend: string;
  readonly bounds: ListBounds;
  readonly tools: ListedTool[];
}

/** Adds the page's tools to those read and returns its cursor. */
const readPage = (reading: Reading, bytes: Buffer): string | undefined => {
  const { backend } = reading;
  const message = readServerMessage(bytes);
  if (message?.kind !== 'response') throw badList(backend, 'an error instead of a list');
  let cursor: string | undefined;
  let hasTools = false;
  readObject(bytes, message.result.start, (key, start) => {
    if (key === 'tools' && isArray(bytes, start)) {
      hasTools = true;
      return readArray(bytes, start, (toolAt) => readTool(reading, bytes, toolAt));
    }
    const span = { start, end: skipValue(bytes, start) };
    if (key === 'nextCursor' && isString(bytes, span)) cursor = readString(bytes, span);
    return span.end;
  });
  if (!hasTools) throw badList(backend, 'no tools in the result');
  return cursor;
};

/** An item without a name cannot be called and is left out. One with two names might be shown under the wrong one. */
const readTool = ({ backend, bounds, tools }: Reading, page: Buffer, start: number): number => {
  if (!isObject(page, start)) return skipValue(page, start);
  let name: { text: string; span: Span } | undefined;
  let isNamed = false;
  const end = readObject(page, start, (key, valueStart) => {
    const span = { start: valueStart, end: skipValue(page, valueStart) };
    if (key.toLowerCase() === 'name') {
      if (isNamed || key !== 'name') throw badList(backend, 'a name that can be read in two ways');
      isNamed = true;
      if (isString(page, span))
        name = { text: readString(page, span), span: { start: span.start - start, end: span.end - start } };
    }
    return span.end;
  });
  if (!name) return end;
  if (end - start > bounds.toolBytes) throw tooLong(backend, `a tool of more than ${bounds.toolBytes} bytes`);
  if (tools.length === bounds.tools) throw tooLong(backend, `more than ${bounds.tools} tools`);
  // A copy, so that one kept tool does not keep its whole page.
  tools.push({ name: name.text, bytes: Buffer.from(page.subarray(start, end)), nameSpan: name.span });
  return end;
};
