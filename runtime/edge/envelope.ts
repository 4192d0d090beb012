import { VmcpError } from '../errors.ts';
import {
  checkEncoding,
  isArray,
  isObject,
  isString,
  JsonSyntaxError,
  readObject,
  readString,
  skipSpace,
  skipValue,
  type Span,
} from '../json-bytes.ts';

/** One JSON-RPC message from a client, read once; spans are into `body`. */
export interface Envelope {
  readonly kind: 'request' | 'notification' | 'response';
  readonly body: Buffer;
  /** JSON text of the id; absent for notifications. */
  readonly id: Buffer | undefined;
  /** Empty for responses. */
  readonly method: string;
  readonly params: Span | undefined;
  /** `params.name`, when it is a string. */
  readonly name: Span | undefined;
  /** Whether `params._meta` names a protocol revision, as every request of 2026-07-28 and later does. */
  readonly namesRevision: boolean;
}

const REVISION_KEY = 'io.modelcontextprotocol/protocolVersion';

interface Members {
  jsonrpc?: Span;
  id?: Span;
  method?: Span;
  params?: Span;
  result?: Span;
  error?: Span;
}

/**
 * Throws `not_json` and `not_json_rpc`. A member that is read here and given twice is refused: a backend might read the other one.
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
  const seen: { name?: Span; namesRevision?: boolean } = {};
  const end = readObject(body, start, (key, at) => {
    const span = {
      start: at,
      end: key === 'params' && isObject(body, at) ? readParams(body, at, seen) : skipValue(body, at),
    };
    if (isEnvelopeKey(key)) {
      if (members[key]) throw notJsonRpc(`"${key}" is given twice`);
      members[key] = span;
    }
    return span.end;
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

const isEnvelopeKey = (key: string): key is keyof Members =>
  key === 'jsonrpc' || key === 'id' || key === 'method' || key === 'params' || key === 'result' || key === 'error';

const readParams = (body: Buffer, at: number, seen: { name?: Span; namesRevision?: boolean }): number =>
  readObject(body, at, (key, start) => {
    if (key === '_meta' && isObject(body, start)) {
      return readObject(body, start, (metaKey, metaAt) => {
        if (metaKey === REVISION_KEY) seen.namesRevision = true;
        return skipValue(body, metaAt);
      });
    }
    const span = { start, end: skipValue(body, start) };
    if (key === 'name') {
      if (seen.name) throw notJsonRpc('"params.name" is given twice');
      seen.name = span;
    }
    return span.end;
  });

const envelopeOf = (body: Buffer, members: Members, seen: { name?: Span; namesRevision?: boolean }): Envelope => {
  const { jsonrpc, id, method, params } = members;
  if (!jsonrpc || body.toString('latin1', jsonrpc.start, jsonrpc.end) !== '"2.0"')
    throw notJsonRpc('"jsonrpc" is not "2.0"');
  if (!method && !(members.result ?? members.error)) throw notJsonRpc('"method" is missing');
  if (method && !isString(body, method)) throw notJsonRpc('"method" is not a string');
  if (params && !isObject(body, params.start)) throw notJsonRpc('"params" is not an object');
  if (id && !isString(body, id) && !isNumber(body, id)) throw notJsonRpc('"id" is neither a string nor a number');
  const kindOfMethod = id ? 'request' : 'notification';
  return {
    kind: method ? kindOfMethod : 'response',
    body,
    id: id && body.subarray(id.start, id.end),
    method: method ? readString(body, method) : '',
    params,
    name: seen.name && isString(body, seen.name) ? seen.name : undefined,
    namesRevision: seen.namesRevision ?? false,
  };
};

const isNumber = (body: Buffer, { start }: Span): boolean => {
  const byte = body[start] ?? 0;
  return byte === 0x2d || (byte >= 0x30 && byte <= 0x39);
};

const notJsonRpc = (message: string): VmcpError => new VmcpError('not_json_rpc', message);

/** The params as values, for messages that are answered here. */
export const paramsOf = (envelope: Envelope): Readonly<Record<string, unknown>> =>
  envelope.params
    ? (JSON.parse(envelope.body.toString('utf8', envelope.params.start, envelope.params.end)) as Record<
        string,
        unknown
      >)
    : {};

/** JSON text of one member of the params; undefined when it is not there. */
export const paramText = ({ body, params }: Envelope, name: string): Buffer | undefined => {
  if (!params) return undefined;
  let text: Buffer | undefined;
  readObject(body, params.start, (key, start) => {
    const end = skipValue(body, start);
    if (key === name) text = body.subarray(start, end);
    return end;
  });
  return text;
};
