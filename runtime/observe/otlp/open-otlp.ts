import { ProtobufMetricsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { type Clock, sleep } from '../../process/index.ts';
import type { Metrics } from '../metrics/registry.ts';
import type { Observers } from '../observers.ts';
import type { SpanSettings } from '../tracing/span-attributes.ts';
import { tracingObservers } from '../tracing/tracing.ts';
import type { ExportOutcomes } from './export-outcomes.ts';
import { metricData } from './metric-data.ts';
import type { SendOtlp } from './otlp-sender.ts';
import { SpanQueue } from './span-queue.ts';

/** Imported only where something is exported: it loads OpenTelemetry's packages. */

export interface ExportSettings {
  /** Attributes of all signals. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  /** Absent: no traces. */
  readonly tracing?: SpanSettings & {
    /** Share of the traces that begin here, 0 to 1. */
    readonly samplingRate: number;
  };
  readonly exportsMetrics: boolean;
}

export interface ExportDeps {
  readonly send: SendOtlp;
  readonly outcomes: ExportOutcomes;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly steadyNow: () => number;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

export interface Otlp {
  readonly observers: Partial<Observers>;
  /** Exports what is left. */
  readonly close: () => Promise<void>;
}

/** As OpenTelemetry names this code. */
const SCOPE = 'vmcp';

/** Exports traces and metrics. */
export const openOtlp = (settings: ExportSettings, deps: ExportDeps): Otlp => {
  const resource = defaultResource().merge(resourceFromAttributes(settings.resource));
  const traces = settings.tracing && openTraces(settings.tracing, { resource, version: settings.version }, deps);
  const closeMetrics = settings.exportsMetrics ? exportMetrics(settings, resource, deps) : async () => {};
  return {
    observers: traces?.observers ?? {},
    close: async () => {
      await Promise.all([traces?.close(), closeMetrics()]);
    },
  };
};

const openTraces = (
  settings: NonNullable<ExportSettings['tracing']>,
  { resource, version }: { readonly resource: Resource; readonly version: string },
  { send, outcomes, clock, steadyNow, random }: ExportDeps,
): Otlp => {
  const queue = new SpanQueue({
    send: async (spans) => {
      const body = ProtobufTraceSerializer.serializeRequest(spans);
      if (!body) return 0;
      const answer = await send('traces', body);
      return ProtobufTraceSerializer.deserializeResponse(answer).partialSuccess?.rejectedSpans ?? 0;
    },
    outcomes,
    clock,
    random,
  });
  const provider = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.samplingRate) }),
    spanProcessors: [queue],
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS },
  });
  const tracer = provider.getTracer(SCOPE, version);
  return {
    observers: tracingObservers(settings, { tracer, now: clock.now, steadyNow }),
    close: () => queue.shutdown(),
  };
};

/** Of variables of the environment; everything else is shorter. */
const MAX_VALUE_CHARACTERS = 1_024;

/** OpenTelemetry, `OTEL_METRIC_EXPORT_INTERVAL`. */
const INTERVAL_MS = 60_000;

/** Exports all metrics every minute, and once more at the end. A failed export is made good by the next one. */
const exportMetrics = (
  { version }: ExportSettings,
  resource: Resource,
  { send, outcomes, metrics, clock }: ExportDeps,
): (() => Promise<void>) => {
  const stopped = new AbortController();
  const from = clock.now();
  const exportOnce = async (): Promise<void> => {
    try {
      const measured = metricData(metrics.measured(), { from, to: clock.now() });
      const scoped: ScopeMetrics = { scope: { name: SCOPE, version }, metrics: measured };
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- two packages declare the same ones
      const body = ProtobufMetricsSerializer.serializeRequest({ resource, scopeMetrics: [scoped] });
      if (body) await send('metrics', body);
      outcomes.ended('metrics');
    } catch (error) {
      outcomes.ended('metrics', error);
    }
  };
  const exportRegularly = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await sleep(clock, INTERVAL_MS, stopped.signal);
      await exportOnce();
    }
  };
  const ended = exportRegularly();
  return () => {
    stopped.abort();
    return ended;
  };
};
