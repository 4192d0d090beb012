import { type FetchPolicy, type GuardedFetch, telemetryPolicy } from '../http/index.ts';
import { atMost, type Clock, type ReadSecret } from '../process/index.ts';
import type { Log } from './log.ts';
import { operationMetrics } from './metrics/operation-metrics.ts';
import { processMetrics } from './metrics/process-metrics.ts';
import type { Exposition, Metrics } from './metrics/registry.ts';
import { type EventMetrics, eventMetrics, type StateReaders, stateMetrics } from './metrics/state-metrics.ts';
import type { Observers } from './observers.ts';
import { exportOutcomes } from './otlp/export-outcomes.ts';
import type { ExportSettings } from './otlp/open-otlp.ts';
import { type OtlpSettings, otlpSender } from './otlp/otlp-sender.ts';

/** docs/configuration.md "telemetry" */
export interface TelemetrySettings extends ExportSettings {
  /** Absent: nothing is exported. */
  readonly otlp?: OtlpSettings & {
    /** HTTP without TLS. */
    readonly isPlain: boolean;
    /** File with the certificate authorities of the endpoint. */
    readonly caBundlePath: string | undefined;
  };
}

export interface TelemetryDeps {
  readonly clock: Clock;
  /** As `steadyClock.now`. */
  readonly steadyNow: () => number;
  readonly random: () => number;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly readSecret: ReadSecret;
  readonly fetchUnder: (
    policy: FetchPolicy,
    options: { readonly caBundlePath: string | undefined },
  ) => { readonly fetch: GuardedFetch };
  readonly onStop: (close: () => Promise<void>) => void;
}

/** What the runtime records of itself. */
export interface Telemetry {
  readonly observers: readonly Partial<Observers>[];
  readonly events: EventMetrics;
  readonly exposition: Exposition;
  /** Shows the state of the process among the metrics; to be called once. */
  readonly show: (state: StateReaders) => void;
}

/** Starts to measure, and to export what is to be exported. */
export const openTelemetry = async (
  metrics: Metrics,
  settings: TelemetrySettings,
  deps: TelemetryDeps,
): Promise<Telemetry> => {
  const { meter } = metrics;
  const stopProcessMetrics = processMetrics(meter);
  deps.onStop(async () => stopProcessMetrics());
  const measuring = operationMetrics(meter, deps.steadyNow);
  const tracing = await exportingTo(settings, metrics, deps);
  return {
    observers: tracing ? [tracing, measuring] : [measuring],
    events: eventMetrics(meter),
    exposition: metrics,
    show: (state) => stateMetrics(meter, state),
  };
};

/** Less than every feature has for its end (`runtime/feature-deps.ts`). */
const CLOSE_MS = 1_500;

const exportingTo = async (
  settings: TelemetrySettings,
  metrics: Metrics,
  deps: TelemetryDeps,
): Promise<Partial<Observers> | undefined> => {
  const { otlp, tracing, exportsMetrics } = settings;
  if (!otlp || (!tracing && !exportsMetrics)) return undefined;
  const { log, clock, readSecret, fetchUnder, onStop } = deps;
  const { fetch } = fetchUnder(telemetryPolicy(otlp.isPlain), { caBundlePath: otlp.caBundlePath });
  const { openOtlp } = await import('./otlp/open-otlp.ts');
  const { observers, close } = openOtlp(settings, {
    ...deps,
    metrics,
    send: otlpSender(otlp, { fetch, readSecret }),
    outcomes: exportOutcomes(metrics.meter, { log, now: clock.now }),
  });
  // Registered after the client, and so closed before it.
  onStop(async () => {
    if (await atMost(clock, CLOSE_MS, close())) return;
    log.warn({}, 'the last telemetry was not sent, the collector takes too long');
  });
  return observers;
};
