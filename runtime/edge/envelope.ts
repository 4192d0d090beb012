import { VmcpError } from '../errors.ts';
import { RESERVED_PREFIX } from '../mcp/index.ts';
import {
  internedKey,
  memberAt,
  SMALL_BYTES,
  checkEncoding,
  isArray,
  isNumber,
  isObject,
  isString,
  JsonSyntaxError,
  readObject,
  readString,
  skipSpace,
  skipValue,
  type Span,
} from '../json/index.ts';

/** One JSON-RPC message from a client, read once; spans are into `body`. */
export interface Envelope {
  readonly kind: 'request' | 'notification' | 'response';
  readonly body: Buffer;
  /** JSON text of the id; absent for notifications. */
  readonly id: Buffer | undefined;
  /** Empty for responses. */
  readonly method: string;
  readonly params: Span | undefined;
  /** The result or the error of a response; it has one of the two. */
  readonly result: Span | undefined;
  readonly error: Span | undefined;
  /** `params.name`, when it is a string. */
  readonly name: Span | undefined;
  /** `params.uri`, when it is a string. */
  readonly uri: Span | undefined;
  /** `params.taskId`, when it is a string. */
  readonly taskId: Span | undefined;
  /** `params.ref`, whatever it is. */
  readonly ref: Span | undefined;
  /** `params.requestState`, whatever it is. */
  readonly requestState: Span | undefined;
  /** `params.inputResponses`, whatever it is. */
  readonly inputResponses: Span | undefined;
  /** `params.arguments`, whatever they are. */
  readonly arguments: Span | undefined;
  /** `params._meta`, when it is an object. */
  readonly meta: Span | undefined;
  /**
   * What `params._meta` holds under names that MCP reserves, as requests of 2026-07-28 and later do; empty for most
   * others.
   */
  readonly reserved: ReservedMeta;
}

/**
 * Members of a message, of its params and of `_meta` together: each costs work, and there is no other bound on how many
 * fit into a body.
 */
export const MAX_MEMBERS = 1_000;

/** Longest id, in bytes of JSON text. */
const MAX_ID_BYTES = 256;

/** Spans of the values. */
export interface ReservedMeta {
  readonly protocolVersion?: Span;
  readonly clientCapabilities?: Span;
  readonly clientInfo?: Span;
  readonly logLevel?: Span;
}

const RESERVED: ReadonlyMap<string, keyof ReservedMeta> = new Map(
  (['protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel'] as const).map((key) => [
    `${RESERVED_PREFIX}${key}`,
    key,
  ]),
);

interface Members {
  jsonrpc?: Span;
  id?: Span;
  method?: Span;
  params?: Span;
  result?: Span;
  error?: Span;
}

/**
 * Throws `not_json` and `not_json_rpc`. A member that is read here and given twice is refused: a backend might read the
 * other one.
 */
export const readEnvelope = (body: Buffer): Envelope => {
  try {
    return read(body);
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw new VmcpError('not_json', 'the body is not JSON', { detail: error.message });
    throw error;
  }
};

const read = (body: Buffer): Envelope => {
  checkEncoding(body);
  const start = skipSpace(body, 0);
  if (!isObject(body, start)) return refuseOther(body, start);
  const members: Members = {};
  const seen: SeenParams = { members: 0 };
  const end = readObject(body, start, (key, at) => {
    countMember(seen);
    const valueEnd = key === 'params' && isObject(body, at) ? readParams(body, at, seen) : skipValue(body, at);
    if (!isEnvelopeKey(key)) refuseLookalike(key, ENVELOPE_KEYS);
    else if (members[key]) throw notJsonRpc(`"${key}" is given twice`);
    else members[key] = { start: at, end: valueEnd };
    return valueEnd;
  });
  if (skipSpace(body, end) !== body.length) throw new JsonSyntaxError('more than one value');
  return envelopeOf(body, members, seen);
};

const refuseOther = (body: Buffer, start: number): never => {
  const end = skipValue(body, start);
  if (skipSpace(body, end) !== body.length) throw new JsonSyntaxError('more than one value');
  throw notJsonRpc(
    isArray(body, start) ? 'batches are not supported; send one message per request' : 'not a JSON-RPC message',
  );
};

const ENVELOPE_KEYS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const;

const isEnvelopeKey = (key: string): key is keyof Members =>
  key === 'jsonrpc' || key === 'id' || key === 'method' || key === 'params' || key === 'result' || key === 'error';

/** The members of params that policy, or a backend's choice of what to do, may rest on. */
const PARAM_KEYS = ['name', 'arguments', '_meta', 'uri', 'ref', 'taskId', 'requestState', 'inputResponses'] as const;
type ParamKey = (typeof PARAM_KEYS)[number];

type SeenParams = { [key in ParamKey]?: Span } & {
  /** Number of members of the message, its params and `_meta`. */
  members: number;
  reserved?: { -readonly [key in keyof ReservedMeta]: ReservedMeta[key] };
};

const countMember = (seen: SeenParams): void => {
  seen.members += 1;
  if (seen.members > MAX_MEMBERS) throw notJsonRpc(`more than ${MAX_MEMBERS} members`);
};

const isParamKey = (key: string): key is ParamKey =>
  key === 'name' ||
  key === 'arguments' ||
  key === '_meta' ||
  key === 'uri' ||
  key === 'ref' ||
  key === 'taskId' ||
  key === 'requestState' ||
  key === 'inputResponses';

const readParams = (body: Buffer, at: number, seen: SeenParams): number =>
  readObject(body, at, (key, start) => {
    countMember(seen);
    const end = key === '_meta' && isObject(body, start) ? readMeta(body, start, seen) : skipValue(body, start);
    if (!isParamKey(key)) refuseLookalike(key, PARAM_KEYS);
    else if (seen[key]) throw notJsonRpc(`"params.${key}" is given twice`);
    else seen[key] = { start, end };
    return end;
  });

const readMeta = (body: Buffer, at: number, seen: SeenParams): number =>
  readObject(body, at, (key, start) => {
    countMember(seen);
    const end = skipValue(body, start);
    const reserved = RESERVED.get(key);
    if (reserved) noteReserved(seen, reserved, { start, end });
    return end;
  });

const noteReserved = (seen: SeenParams, key: keyof ReservedMeta, span: Span): void => {
  seen.reserved ??= {};
  if (seen.reserved[key]) throw notJsonRpc(`"params._meta.${RESERVED_PREFIX}${key}" is given twice`);
  seen.reserved[key] = span;
};

const NO_RESERVED: ReservedMeta = {};

const LONGEST_KEY = 'inputResponses'.length;

/**
 * Some backends read members whatever the case of their letters (Go's encoding/json, by Unicode's simple folding): they
 * would take `Name` where we have read `name`.
 */
const refuseLookalike = (key: string, known: readonly string[]): void => {
  if (key.length > LONGEST_KEY) return;
  // Upper case first: it is what makes `ſ` an S.
  const folded = key.toUpperCase().toLowerCase();
  const meant = known.find((each) => each.toLowerCase() === folded);
  if (meant) throw notJsonRpc(`"${meant}" is spelt in another case`);
};

const envelopeOf = (body: Buffer, members: Members, seen: SeenParams): Envelope => {
  const { jsonrpc, id, method, params } = members;
  if (!jsonrpc || body.toString('latin1', jsonrpc.start, jsonrpc.end) !== '"2.0"')
    throw notJsonRpc('"jsonrpc" is not "2.0"');
  if (!method && !(members.result ?? members.error)) throw notJsonRpc('"method" is missing');
  if (method && !isString(body, method)) throw notJsonRpc('"method" is not a string');
  if (params && !isObject(body, params.start)) throw notJsonRpc('"params" is not an object');
  if (id) checkId(body, id);
  const kindOfMethod = id ? 'request' : 'notification';
  return {
    kind: method ? kindOfMethod : 'response',
    body,
    id: id && body.subarray(id.start, id.end),
    method: method ? (internedKey(body, method.start, method.end) ?? readString(body, method)) : '',
    params,
    result: members.result,
    error: members.error,
    name: seen.name && isString(body, seen.name) ? seen.name : undefined,
    uri: seen.uri && isString(body, seen.uri) ? seen.uri : undefined,
    taskId: seen.taskId && isString(body, seen.taskId) ? seen.taskId : undefined,
    ref: seen.ref,
    requestState: seen.requestState,
    inputResponses: seen.inputResponses,
    arguments: seen.arguments,
    meta: seen._meta && isObject(body, seen._meta.start) ? seen._meta : undefined,
    reserved: seen.reserved ?? NO_RESERVED,
  };
};

/** The id is passed on and returned as it is spelt, so it must be something that every peer reads as the same value. */
const checkId = (body: Buffer, id: Span, name = 'id'): void => {
  if (id.end - id.start > MAX_ID_BYTES) throw notJsonRpc(`"${name}" is longer than ${MAX_ID_BYTES} bytes`);
  if (isString(body, id)) return;
  const isFinite = isNumber(body, id) && Number.isFinite(Number(body.toString('latin1', id.start, id.end)));
  if (!isFinite) throw notJsonRpc(`"${name}" is neither a string nor a number`);
};

const notJsonRpc = (message: string): VmcpError => new VmcpError('not_json_rpc', message);

/**
 * JSON text of the id of the request that a notification is about; undefined when the notification names none. Throws
 * `not_json_rpc`.
 */
export const requestIdIn = ({ body, params }: Envelope): Buffer | undefined => {
  const span = params && memberAt(body, params.start, 'requestId');
  if (span) checkId(body, span, 'requestId');
  return span && body.subarray(span.start, span.end);
};

/** JSON text of one member of the params; undefined when the member is absent. */
export const paramText = ({ body, params }: Envelope, name: string): Buffer | undefined => {
  const span = params && memberAt(body, params.start, name);
  return span && body.subarray(span.start, span.end);
};

/** The value of one member of the params. Throws `invalid_params` when its text is longer than SMALL_BYTES. */
export const paramValue = (envelope: Envelope, name: string): unknown => {
  const text = paramText(envelope, name);
  if (!text) return undefined;
  if (text.length > SMALL_BYTES)
    throw new VmcpError('invalid_params', `params.${name} is longer than ${SMALL_BYTES} bytes`);
  return JSON.parse(text.toString());
};
