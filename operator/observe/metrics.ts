import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Exposition } from './health.ts';
import type { CallObserver, ReviewObserver, WorkObserver } from './observers.ts';

export interface MetricsOptions {
  readonly version: string;
  /** Kinds that are used as labels; every other kind that a request to the webhook names counts as `other`. */
  readonly kinds: readonly string[];
}

/** Values that are read when the metrics are scraped. */
export interface Measured {
  readonly backlog: () => number;
  /** Phases of all servers, one for each. */
  readonly phases: () => readonly (string | undefined)[];
}

/** Everything the operator measures. Labels hold a few known words each: no names, no addresses. */
export interface Metrics extends Exposition {
  readonly work: WorkObserver;
  readonly calls: CallObserver;
  readonly reviews: ReviewObserver;
}

/** Metrics of one operator, in a registry of its own, with those of Node.js. */
export const createMetrics = ({ version, kinds }: MetricsOptions, measured: Measured): Metrics => {
  const registry = new Registry();
  // Its default would wake the process a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  gauges(registry, version, measured);
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    work: workIn(registry),
    calls: callsIn(registry),
    reviews: reviewsIn(registry, new Set(kinds)),
  };
};

const PREFIX = 'vmcp_operator_';

/** Name without the prefix, what it says, and its labels. */
const spec = <L extends string>(registry: Registry, name: string, help: string, ...labelNames: readonly L[]) => ({
  name: `${PREFIX}${name}`,
  help,
  labelNames,
  registers: [registry],
});

const PHASES = ['Pending', 'Ready', 'Degraded', 'Failed'];

const gauges = (registry: Registry, version: string, { backlog, phases }: Measured): void => {
  const info = new Gauge(spec(registry, 'build_info', 'Version of the operator; always 1.', 'version'));
  info.set({ version }, 1);
  const depth = new Gauge({
    ...spec(registry, 'queue_depth', 'Keys that are due and wait for a worker; 0 on a replica that does not lead.'),
    collect() {
      this.set(backlog());
    },
  });
  const servers = new Gauge({
    ...spec(registry, 'servers', 'VirtualMCPServers by phase, as every replica sees them.', 'phase'),
    collect() {
      const counts = Map.groupBy(phases(), (phase) => (PHASES.includes(phase ?? '') ? phase : 'Unknown'));
      [...PHASES, 'Unknown'].forEach((phase) => this.set({ phase }, counts.get(phase)?.length ?? 0));
    },
  });
  [info, depth, servers].forEach((gauge) => registry.registerMetric(gauge));
};

/** From a look that finds nothing to do to an API server that is slow. */
const RECONCILE_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WAIT_BUCKETS = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60];
const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const workIn = (registry: Registry): WorkObserver => {
  const reconciles = new Counter(spec(registry, 'reconciles_total', 'Reconciles that ended.', 'kind', 'result'));
  const durations = new Histogram({
    ...spec(registry, 'reconcile_duration_seconds', 'How long reconciles took.', 'kind'),
    buckets: RECONCILE_BUCKETS,
  });
  const waits = new Histogram({
    ...spec(registry, 'queue_wait_seconds', 'How long keys that were due waited for a worker.'),
    buckets: WAIT_BUCKETS,
  });
  const retries = new Counter(spec(registry, 'retries_total', 'Reconciles that failed and are tried again.', 'kind'));
  const help = 'Watches that failed and were begun again; their ordinary ends are not counted.';
  const restarts = new Counter(spec(registry, 'watch_restarts_total', help, 'kind'));
  const leader = new Gauge(spec(registry, 'leader', '1 on the replica that acts.'));
  return {
    reconciled: (kind, result, ms) => {
      reconciles.inc({ kind, result });
      durations.observe({ kind }, ms / 1000);
    },
    failed: (kind) => retries.inc({ kind }),
    waited: (ms) => waits.observe(ms / 1000),
    watchInterrupted: (kind) => restarts.inc({ kind }),
    leads: (isLeading) => leader.set(isLeading ? 1 : 0),
  };
};

const callsIn = (registry: Registry): Metrics['calls'] => {
  const help = 'Requests to the API server by HTTP status; `none`: no answer came.';
  const requests = new Counter(spec(registry, 'api_requests_total', help, 'verb', 'kind', 'code'));
  const durations = new Histogram({
    ...spec(registry, 'api_request_duration_seconds', 'Time until the API server began to answer.', 'verb'),
    buckets: CALL_BUCKETS,
  });
  return ({ verb, kind }, status, ms) => {
    requests.inc({ verb, kind, code: status ?? 'none' });
    if (status !== undefined) durations.observe({ verb }, ms / 1000);
  };
};

const reviewsIn = (registry: Registry, kinds: ReadonlySet<string>): Metrics['reviews'] => {
  const help = 'Changes that the webhook judged.';
  const reviews = new Counter(spec(registry, 'admission_reviews_total', help, 'kind', 'operation', 'allowed'));
  return ({ kind, operation }, isAllowed) =>
    reviews.inc({ kind: kinds.has(kind) ? kind : 'other', operation, allowed: String(isAllowed) });
};
