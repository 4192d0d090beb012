import type { WholeReply } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { isObject, skipSpace, skipValue, splice, walkObject, type Span } from '../json-bytes.ts';
import { memberAt, replacedMember, withMembers, withoutMembers, type KeyTest } from '../json-members.ts';
import { isText } from '../json-text.ts';
import { RESERVED_PREFIX } from '../revisions.ts';
import { tellsTask } from '../tasks-extension.ts';

export interface ModernMembers {
  /** Whether a task may stand in place of the result; absent: no. */
  readonly mayBeTask?: () => boolean;
  /** JSON text of our `serverInfo`. */
  readonly serverInfo: string;
  /** JSON text of the members that say how long the result may be kept; absent for results that have none. */
  readonly caching?: string;
}

/**
 * A JSON-RPC response as 2026-07-28 has it: the result says what kind it is and whose, and how long it may be kept. Everything else is
 * as the backend wrote it.
 */
export const modernResponse = (response: Buffer, members: ModernMembers): Pick<WholeReply, 'status' | 'body'> => {
  const span = memberAt(response, skipSpace(response, 0), 'result');
  if (!span || !isObject(response, span.start)) return modernError(response);
  const result = modernResult(response.subarray(span.start, span.end), members);
  return { status: 200, body: Buffer.concat([response.subarray(0, span.start), result, response.subarray(span.end)]) };
};

/**
 * The one code of earlier revisions that this one has another for (MCP 2026-07-28, "Error Codes"). -32042 has none, but its `data` tells what the
 * user has to do, and clients of this revision know it.
 */
const REPLACED: ReadonlyMap<string, string> = new Map([['-32002', '-32602']]);

/** Those that this revision wants HTTP 400 for, whoever answers with them; all others are an answer like any. */
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
export const modernResult = (result: Buffer, { serverInfo, caching, mayBeTask }: ModernMembers): Buffer => {
  const own = `"${RESERVED_PREFIX}serverInfo":${serverInfo}`;
  const kept = caching === undefined ? result : withoutMembers(result, isCaching);
  const { isTask, hasType, meta } = readResult(kept);
  if (isTask && !mayBeTask?.())
    throw new VmcpError('backend_unavailable', 'the backend answered with a task, which the client has not asked for');
  const added = [
    ...(hasType ? [] : ['"resultType":"complete"']),
    ...(caching === undefined ? [] : [caching]),
    ...(meta ? [] : [`"_meta":{${own}}`]),
  ];
  return withMembers(meta ? splice(kept, meta, withOwn(kept.subarray(meta.start, meta.end), own)) : kept, added);
};

interface ReadResult {
  isTask: boolean;
  hasType: boolean;
  meta: Span | undefined;
}

/** A task under any of its types, should one be given twice: nobody knows which of them a client reads. */
const readResult = (result: Buffer): ReadResult => {
  const read: ReadResult = { isTask: false, hasType: false, meta: undefined };
  walkObject(result, 0, (keyAt, _keyEnd, start) => {
    const end = skipValue(result, start);
    if (isText(result, keyAt, 'resultType')) read.hasType = true;
    if (tellsTask(result, keyAt, start)) read.isTask = true;
    if (isText(result, keyAt, '_meta')) read.meta = { start, end };
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
