import type { Call, CallClient } from '../../call/index.ts';
import {
  isEmptyObject,
  isObject,
  type Span,
  replacedMember,
  withoutMembers,
  type KeyTest,
  beginsWith,
  isText,
  joined,
  type SentText,
  spliced,
  wholeOf,
} from '../../json/index.ts';
import { MODERN_REVISION, RESERVED_PREFIX } from '../../mcp/index.ts';

/**
 * The call's request as a backend of a revision before 2026-07-28 reads it: under the backend's own name, without the
 * members of `_meta` that only the newer revision knows, and without `inputResponses` and `requestState`. Everything
 * else is as the client wrote it.
 */
export const legacyRequest = (
  { request, client, answered }: Pick<Call, 'request' | 'client' | 'answered'>,
  ownName: Buffer,
): SentText => {
  const { bytes, target, meta } = request;
  if (client.era === 'legacy' || !meta) return spliced(bytes, target, ownName);
  const older = edited(bytes, { span: target, text: ownName }, { span: meta, text: unreserved(bytes, meta) });
  return answered ? replacedMember(wholeOf(older), 'params', (params) => withoutMembers(params, isRoundMember)) : older;
};

/** Members of params by which a request of 2026-07-28 continues an earlier one. */
export const isRoundMember: KeyTest = (bytes, keyAt) =>
  isText(bytes, keyAt, 'inputResponses') || isText(bytes, keyAt, 'requestState');

/** The message under another id (JSON text). */
export const withRequestId = (message: Buffer, id: Buffer): Buffer => replacedMember(message, 'id', () => id);

/** The call's request as a backend of 2026-07-28 reads it: `_meta` names the client and the revision. */
export const modernRequest = (call: Pick<Call, 'request' | 'client'>, ownName: Buffer, hop: HopMeta): SentText => {
  const { bytes, target, params, meta } = call.request;
  const own = hop.of(call.client);
  const place = meta ?? insertion(bytes, params?.start ?? target.start);
  const text = meta
    ? withOthers(own, unreserved(bytes, meta))
    : Buffer.concat([Buffer.from('"_meta":'), own, Buffer.from(',')]);
  return edited(bytes, { span: target, text: ownName }, { span: place, text });
};

/** The object `own` with the members of `others` appended. */
const withOthers = (own: Buffer, others: Buffer): Buffer =>
  isEmptyObject(others, 0) ? own : Buffer.concat([own.subarray(0, -1), Buffer.from(','), others.subarray(1)]);

/**
 * The reserved members of `_meta` for the requests to one backend. Most clients declare the same, so the last text is
 * cached.
 */
export class HopMeta {
  readonly #clientInfo: string;
  #last: { readonly capabilities: Buffer; readonly logLevel: string | undefined; readonly text: Buffer } | undefined;

  /** `clientInfo` is JSON text. */
  constructor(clientInfo: string) {
    this.#clientInfo = clientInfo;
  }

  /** JSON text of an object that is not empty. */
  of({ capabilities, logLevel }: Pick<CallClient, 'capabilities' | 'logLevel'>): Buffer {
    const last = this.#last;
    if (last && last.logLevel === logLevel && last.capabilities.equals(capabilities)) return last.text;
    const declared = capabilities.toString();
    const members = reservedMembers({ clientInfo: this.#clientInfo, capabilities: declared, logLevel });
    const text = Buffer.from(`{${members.join(',')}}`);
    // A copy, since a part of the request would keep the whole request in memory.
    this.#last = { capabilities: Buffer.from(declared), logLevel, text };
    return text;
  }
}

/** The members of `_meta` that every request of 2026-07-28 carries. */
const reservedMembers = (of: {
  readonly clientInfo: string;
  readonly capabilities: string;
  readonly logLevel: string | undefined;
}): readonly string[] => [
  `"${RESERVED_PREFIX}protocolVersion":"${MODERN_REVISION}"`,
  `"${RESERVED_PREFIX}clientCapabilities":${of.capabilities}`,
  `"${RESERVED_PREFIX}clientInfo":${of.clientInfo}`,
  ...(of.logLevel === undefined ? [] : [`"${RESERVED_PREFIX}logLevel":${JSON.stringify(of.logLevel)}`]),
];

/**
 * JSON text of `_meta` for the gateway's own requests: it declares no capabilities, as the gateway answers no requests
 * of backends. `clientInfo` is JSON text.
 */
export const ownMeta = (clientInfo: string): string => askableMeta(clientInfo, '{}');

/** The same with these capabilities (JSON text). */
export const askableMeta = (clientInfo: string, capabilities: string): string =>
  `{${reservedMembers({ clientInfo, capabilities, logLevel: undefined }).join(',')}}`;

/** The empty span just behind the brace of an object that is not empty. */
const insertion = (bytes: Buffer, brace: number): Span => {
  const at = bytes[brace] === 0x7b ? brace + 1 : brace;
  return { start: at, end: at };
};

interface Edit {
  readonly span: Span;
  readonly text: Buffer;
}

/** Both edits at once; neither lies within the other. */
const edited = (bytes: Buffer, one: Edit, other: Edit): SentText => {
  const [first, second] = one.span.end <= other.span.start ? [one, other] : [other, one];
  return joined([
    bytes.subarray(0, first.span.start),
    first.text,
    bytes.subarray(first.span.end, second.span.start),
    second.text,
    bytes.subarray(second.span.end),
  ]);
};

/** Whether MCP reserves this key of `_meta`. */
export const isReserved: KeyTest = (bytes, keyAt) => beginsWith(bytes, keyAt, RESERVED_PREFIX);

const unreserved = (bytes: Buffer, { start, end }: Span): Buffer =>
  isObject(bytes, start) ? withoutMembers(bytes.subarray(start, end), isReserved) : Buffer.from('{}');
