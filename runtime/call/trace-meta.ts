import type { RelayedRequest, TraceContext } from './call.ts';
import {
  isObject,
  isText,
  memberAt,
  type KeyTest,
  readString,
  type Span,
  withMembers,
  withoutMembers,
} from '../json/index.ts';

/** W3C Trace Context, "tracestate Limits": longer ones need not be passed on. */
const MAX_CHARACTERS = 512;

/** The context in `params._meta` (JSON text at `meta`); undefined without one. MCP SEP-414. */
export const traceContextIn = (bytes: Buffer, meta: Span): TraceContext | undefined => {
  if (!isObject(bytes, meta.start)) return undefined;
  const traceparent = textAt(bytes, meta, 'traceparent');
  if (traceparent === undefined) return undefined;
  const tracestate = textAt(bytes, meta, 'tracestate');
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
};

const textAt = (bytes: Buffer, { start }: Span, name: string): string | undefined => {
  const value = memberAt(bytes, start, name);
  if (!value || bytes[value.start] !== QUOTE || value.end - value.start > MAX_CHARACTERS) return undefined;
  return readString(bytes, value);
};

const QUOTE = 0x22;

/**
 * The request with this context in `params._meta`, in place of the client's own. A request without an object as
 * `params` has no place for it and stays as it is.
 */
export const withTraceContext = (
  request: RelayedRequest,
  { traceparent, tracestate }: TraceContext,
): RelayedRequest => {
  const { bytes, params, meta, target } = request;
  if (!params || !isObject(bytes, params.start) || (meta && !isObject(bytes, meta.start))) return request;
  const members = [
    `"traceparent":${JSON.stringify(traceparent)}`,
    ...(tracestate === undefined ? [] : [`"tracestate":${JSON.stringify(tracestate)}`]),
  ];
  const own = meta ? withoutMembers(bytes.subarray(meta.start, meta.end), isTraceMember) : Buffer.from('{}');
  const value = withMembers(own, members);
  // Of `params` without `_meta`, the place behind the brace; it is not empty, since it names the target.
  const [from, to] = meta ? [meta.start, meta.end] : [params.start + 1, params.start + 1];
  const [before, after] = meta ? ['', ''] : ['"_meta":', ','];
  const text = Buffer.concat([
    bytes.subarray(0, from),
    Buffer.from(before),
    value,
    Buffer.from(after),
    bytes.subarray(to),
  ]);
  const grown = text.length - bytes.length;
  const moved = (at: Span): Span => (at.start < from ? at : { start: at.start + grown, end: at.end + grown });
  const metaStart = from + before.length;
  return {
    bytes: text,
    id: request.id,
    target: moved(target),
    params: { start: params.start, end: params.end + grown },
    meta: { start: metaStart, end: metaStart + value.length },
  };
};

const isTraceMember: KeyTest = (bytes, keyAt) =>
  isText(bytes, keyAt, 'traceparent') || isText(bytes, keyAt, 'tracestate');
