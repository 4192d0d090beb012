import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';
import { type Call, type Reply, type RequestRecord, traceContextIn, withTraceContext } from '../../call/index.ts';
import { isObject, memberAt, skipSpace } from '../../json/index.ts';
import type { Observers } from '../observers.ts';
import {
  answerAttributes,
  clientSpan,
  errorAttributes,
  errorOfReply,
  errorOfThrown,
  innerSpan,
  serverSpan,
  STEP_FAILED,
  stepAttributes,
  stepSpan,
  type SpanFacts,
  type SpanSettings,
} from './span-attributes.ts';
import { headerContextOf, spanContextOf, travelling } from './span-context.ts';

export interface TracingDeps {
  readonly tracer: Tracer;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds since some moment, of which parts count; not affected when the machine's clock is set. */
  readonly steadyNow: () => number;
}

/** A span, and the clock of its trace. */
interface Traced {
  readonly span: Span;
  readonly at: () => number;
}

/** A request: its span begins with it, and is made once its parent is known, which may be in its body. */
interface TracedRequest {
  readonly at: () => number;
  readonly begunAt: number;
  span: Span | undefined;
}

/**
 * A span for each request of a client, each step of a composite tool, each inner call, and each call to a backend,
 * which gets its context: docs/telemetry.md "Traces".
 */
export const tracingObservers = (settings: SpanSettings, deps: TracingDeps): Partial<Observers> => {
  const requests = new WeakMap<RequestRecord, TracedRequest>();
  const calls = new WeakMap<Call, Traced>();
  const spanOf = (record: RequestRecord, traced: TracedRequest): Span => {
    traced.span ??= startServerSpan(record, traced.begunAt, { settings, deps });
    return traced.span;
  };
  return {
    trace: async (record, next) => {
      const at = timeOfTrace(deps);
      const traced: TracedRequest = { at, begunAt: at(), span: undefined };
      requests.set(record, traced);
      try {
        const reply = await next();
        const span = spanOf(record, traced);
        described(span, () => answerAttributes(reply, settings));
        end({ span, at }, () => errorOfReply(reply, record.message?.kind === 'call'));
        return reply;
      } catch (thrown) {
        end({ span: spanOf(record, traced), at }, () => errorOfThrown(thrown));
        throw thrown;
      }
    },
    aroundCall: (call, { request }, next) => {
      // The span of a request stands for its own call.
      const traced = request && requests.get(request);
      if (traced && call.depth === 0) {
        calls.set(call, { span: spanOf(request, traced), at: traced.at });
        return next();
      }
      const parent = call.parent && calls.get(call.parent);
      if (!parent) return next();
      const inner = startChild(deps.tracer, parent, { ...innerSpan(call, settings), kind: SpanKind.INTERNAL });
      calls.set(call, inner);
      return ended(inner, next, errorOfCall);
    },
    aroundBackendCall: (call, target, next) => {
      const parent = calls.get(call);
      if (!parent) return next(call);
      const sent = startChild(deps.tracer, parent, { ...clientSpan(call, target, settings), kind: SpanKind.CLIENT });
      const context = travelling(sent.span.spanContext());
      const traced = { ...call, trace: context, request: withTraceContext(call.request, context) };
      return ended(sent, () => next(traced), errorOfCall);
    },
    aroundStep: (call, step, next) => {
      const parent = calls.get(call);
      if (!parent) return next(call);
      const traced = startChild(deps.tracer, parent, { ...stepSpan(step, settings), kind: SpanKind.INTERNAL });
      const ofStep = { ...call };
      calls.set(ofStep, traced);
      const performed = async (): ReturnType<typeof next> => {
        const outcome = await next(ofStep);
        described(traced.span, () => stepAttributes(outcome.state));
        return outcome;
      };
      return ended(traced, performed, ({ state }) => (state === 'failed' ? STEP_FAILED : undefined));
    },
  };
};

/** Time since the beginning of a trace, to parts of a millisecond, on top of the machine's time. */
const timeOfTrace = ({ now, steadyNow }: TracingDeps): (() => number) => {
  const offset = now() - steadyNow();
  return () => steadyNow() + offset;
};

interface HowToStart {
  readonly settings: SpanSettings;
  readonly deps: TracingDeps;
}

/** The context of the message is the parent, before that of its HTTP request, which is then linked to. */
const startServerSpan = (
  record: RequestRecord,
  startTime: number,
  { settings, deps: { tracer } }: HowToStart,
): Span => {
  const { name, attributes } = serverSpan(record, settings);
  const [inMessage, inHeaders] = [messageContextOf(record), headerContextOf(record.request.headers)];
  const [ofMessage, ofHeaders] = [inMessage && spanContextOf(inMessage), inHeaders && spanContextOf(inHeaders)];
  const sent = ofMessage ?? ofHeaders;
  // Who may not send does not decide what is sampled: its trace is linked to.
  const parent = record.caller && sent;
  const isOther = ofMessage && ofHeaders && ofHeaders.spanId !== ofMessage.spanId;
  const links = [parent ? undefined : sent, isOther ? ofHeaders : undefined].flatMap((each) =>
    each ? [{ context: each }] : [],
  );
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  return described(tracer.startSpan(name, { kind: SpanKind.SERVER, startTime, links }, context), attributes);
};

const messageContextOf = ({ message, request: { body } }: RequestRecord) => {
  if (!message) return undefined;
  if (message.kind === 'call') {
    const { bytes, meta } = message.call.request;
    return meta && traceContextIn(bytes, meta);
  }
  const start = skipSpace(body, 0);
  const params = isObject(body, start) ? memberAt(body, start, 'params') : undefined;
  const meta = params && isObject(body, params.start) ? memberAt(body, params.start, '_meta') : undefined;
  return meta && traceContextIn(body, meta);
};

/** Most spans may not be sampled, and then need no attributes. */
const described = (span: Span, attributes: SpanFacts['attributes']): Span =>
  span.isRecording() ? span.setAttributes(attributes()) : span;

interface Child extends SpanFacts {
  readonly kind: SpanKind;
}

const startChild = (tracer: Tracer, { span, at }: Traced, { name, attributes, kind }: Child): Traced => {
  const context = trace.setSpanContext(ROOT_CONTEXT, span.spanContext());
  return { span: described(tracer.startSpan(name, { kind, startTime: at() }, context), attributes), at };
};

/** Ends the span with the work; `errorOf`: `error.type` of an outcome that is a failure. */
const ended = async <Outcome>(
  traced: Traced,
  work: () => Promise<Outcome>,
  errorOf: (outcome: Outcome) => string | undefined,
): Promise<Outcome> => {
  try {
    const outcome = await work();
    end(traced, () => errorOf(outcome));
    return outcome;
  } catch (thrown) {
    end(traced, () => errorOfThrown(thrown));
    throw thrown;
  }
};

const errorOfCall = (reply: Reply): string | undefined => errorOfReply(reply, true);

/** Texts of errors may hold what a client or a backend wrote, so spans have only their kinds. */
const end = ({ span, at }: Traced, errorOf: () => string | undefined): void => {
  if (!span.isRecording()) return;
  const error = errorOf();
  if (error !== undefined) {
    span.setAttributes(errorAttributes(error));
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(at());
};
