import type { WholeReply } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import {
  isEmptyObject,
  isObject,
  skipSpace,
  skipValue,
  splice,
  walkObject,
  type Span,
  replacedMember,
  withMembers,
  withoutMembers,
  type KeyTest,
  isText,
} from '../json/index.ts';
import { RESERVED_PREFIX, isTaskType } from '../mcp/index.ts';

export interface ModernMembers {
  /** Whether a task may stand in place of the result; absent: no. */
  readonly mayBeTask?: () => boolean;
  /** JSON text of our `serverInfo`. */
  readonly serverInfo: string;
  /** JSON text of the members that say how long the result may be kept; absent for results that have none. */
  readonly caching?: string;
}

/**
 * A JSON-RPC response in the form of 2026-07-28: the result names its type and its server, and how long it may be
 * cached. Everything else is as the backend wrote it.
 */
export const modernResponse = (response: Buffer, members: ModernMembers): Pick<WholeReply, 'status' | 'body'> => {
  const result = resultIn(response);
  if (!result) return modernError(response);
  if (members.caching === undefined) return { status: 200, body: stamped(response, result, members) };
  return {
    status: 200,
    body: splice(response, result, modernResult(response.subarray(result.start, result.end), members)),
  };
};

/** The result of a response, where it is an object; the last one, should it be given twice. Each byte is read once. */
const resultIn = (response: Buffer): ReadResult | undefined => {
  let result: ReadResult | undefined;
  walkObject(response, skipSpace(response, 0), (keyAt, _keyEnd, start) => {
    const isResult = isText(response, keyAt, 'result');
    if (!isResult || !isObject(response, start)) {
      if (isResult) result = undefined;
      return skipValue(response, start);
    }
    result = readResult(response, start);
    return result.end;
  });
  return result;
};

/**
 * The one code of earlier revisions that this one has another for (MCP 2026-07-28, "Error Codes"). -32042 has none, but
 * its `data` tells what the user has to do, and clients of this revision know it.
 */
const REPLACED: ReadonlyMap<string, string> = new Map([['-32002', '-32602']]);

/** Error codes that this revision wants HTTP 400 for, from gateway and backend alike; all others get HTTP 200. */
const BAD_REQUEST: ReadonlySet<string> = new Set(['-32020', '-32021', '-32022']);

const modernError = (response: Buffer): Pick<WholeReply, 'status' | 'body'> => {
  let status = 200;
  const body = replacedMember(response, 'error', (error) => {
    if (!isObject(error, 0)) return error;
    return replacedMember(error, 'code', (code) => {
      if (BAD_REQUEST.has(code.toString())) status = 400;
      return Buffer.from(REPLACED.get(code.toString()) ?? code);
    });
  });
  return { status, body };
};

/** The same for the JSON text of a result alone. Throws `backend_unavailable` for a task where there may be none. */
export const modernResult = (result: Buffer, members: ModernMembers): Buffer => {
  const kept = members.caching === undefined ? result : withoutMembers(result, isCaching);
  return stamped(kept, readResult(kept, 0), members);
};

/**
 * `bytes` with the members that the result in them needs before its own; one copy, unless there are members of the same
 * name.
 */
const stamped = (
  bytes: Buffer,
  { start, isTask, hasType, meta }: ReadResult,
  { serverInfo, caching, mayBeTask }: ModernMembers,
): Buffer => {
  if (isTask && !mayBeTask?.())
    throw new VmcpError('backend_unavailable', 'the backend answered with a task, which the client has not asked for');
  const own = `"${RESERVED_PREFIX}serverInfo":${serverInfo}`;
  const added = [hasType ? '' : '"resultType":"complete"', caching ?? '', meta ? '' : `"_meta":{${own}}`];
  const text = added.filter(Boolean).join(',');
  const first = Buffer.from(text === '' || isEmptyObject(bytes, start) ? text : `${text},`);
  if (!meta) return splice(bytes, { start: start + 1, end: start + 1 }, first);
  const ownMeta = withOwn(bytes.subarray(meta.start, meta.end), own);
  const [head, between] = [bytes.subarray(0, start + 1), bytes.subarray(start + 1, meta.start)];
  return Buffer.concat([head, first, between, ownMeta, bytes.subarray(meta.end)]);
};

/** The span of the result, and the members found in it. */
interface ReadResult {
  readonly start: number;
  end: number;
  isTask: boolean;
  hasType: boolean;
  meta: Span | undefined;
}

/**
 * Where `resultType` is given twice, one of them is enough to make it a task: clients differ in which one they read.
 */
const readResult = (bytes: Buffer, at: number): ReadResult => {
  const read: ReadResult = { start: at, end: at, isTask: false, hasType: false, meta: undefined };
  read.end = walkObject(bytes, at, (keyAt, _keyEnd, start) => {
    const end = skipValue(bytes, start);
    if (isText(bytes, keyAt, 'resultType')) read.hasType = true;
    if (isTaskType(bytes, keyAt, start)) read.isTask = true;
    if (isText(bytes, keyAt, '_meta')) read.meta = { start, end };
    return end;
  });
  return read;
};

const isCaching: KeyTest = (bytes, keyAt) => isText(bytes, keyAt, 'ttlMs') || isText(bytes, keyAt, 'cacheScope');

/** Only the server's identity is the gateway's to say; other reserved members mean the same on both hops. */
const withOwn = (meta: Buffer, own: string): Buffer =>
  isObject(meta, 0)
    ? withMembers(
        withoutMembers(meta, (bytes, keyAt) => isText(bytes, keyAt, `${RESERVED_PREFIX}serverInfo`)),
        [own],
      )
    : Buffer.from(`{${own}}`);
