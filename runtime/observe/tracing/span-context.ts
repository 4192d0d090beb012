import { createTraceState, type SpanContext } from '@opentelemetry/api';
import type { IncomingHttpHeaders } from 'node:http';
import type { TraceContext } from '../../call/index.ts';

/** W3C Trace Context, "traceparent Header Field Values"; a later version may have more fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const MAX_STATE_CHARACTERS = 512;

const SAMPLED = 1;

/** The context that a message brought, as the parent of a span; undefined where it is malformed. */
export const spanContextOf = ({ traceparent, tracestate }: TraceContext): SpanContext | undefined => {
  const [, version, traceId, spanId, flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined;
  const isStateKept = tracestate !== undefined && tracestate.length <= MAX_STATE_CHARACTERS;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & SAMPLED,
    isRemote: true,
    ...(isStateKept && { traceState: createTraceState(tracestate) }),
  };
};

/** The context in the headers of a request; undefined without one. */
export const headerContextOf = ({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | undefined => {
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
};

/** The context of a span as it travels. */
export const travelling = ({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext => {
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & SAMPLED}`,
    ...(tracestate && { tracestate }),
  };
};
