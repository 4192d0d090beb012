import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Agent } from 'undici';
import { steadyClock, systemClock } from '../runtime/process/index.ts';
import { VERSION } from '../runtime/version.ts';
import { type Admission, type AdmissionDeps, type AdmissionOptions, startAdmission } from './admission/index.ts';
import { type ApiClient, apiClient } from './api/client.ts';
import { dryRunClient } from './api/dry-run.ts';
import { type Connection, connect } from './api/kubeconfig.ts';
import { rateLimit } from './api/rate-limit.ts';
import { type Resource, resourceTable } from './api/resources.ts';
import { transport } from './api/transport.ts';
import { statusFetcher } from './engine/fetch-status.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import type { KubeObject } from './object.ts';
import { serveHealth } from './observe/health.ts';
import { type Log, createLog } from './observe/log.ts';
import { type Measured, type Metrics, createMetrics } from './observe/metrics.ts';
import { type CheckReport, checkHere, checkIn } from './offload/check-report.ts';
import { type MakePlan, Planner, planHere } from './offload/planner.ts';
import { type ValidateObject, validateHere, validateIn } from './offload/validate.ts';
import type { TrustedCa } from './plan/settings.ts';
import type { Source } from './read/source.ts';
import { type Operator, type OperatorDeps, startOperator } from './start-operator.ts';
import { type ReadJson, readHere, readIn, readWithFallback } from './threads/read-json.ts';
import { WorkThread } from './threads/work-thread.ts';

export interface RunOptions {
  /** Absent: as the pod it runs in, or by the usual kubeconfig. */
  readonly kubeconfig?: string;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Holds the Lease and the Secret of the management key. Absent: the namespace of the connection. */
  readonly operatorNamespace?: string;
  readonly runtimeImage: string;
  readonly bridgeImage: string;
  readonly clusterDomain: string;
  readonly trustedCa?: TrustedCa;
  readonly healthPort: number;
  /** Absent: no webhook; conditions report what it would refuse. */
  readonly webhook?: WebhookOptions;
  readonly workers: number;
  readonly leaderElection: boolean;
  readonly logLevel: string;
  /** Nothing is written: no election, no webhook, and the log says what would be. */
  readonly isDryRun: boolean;
}

/** What of the webhook is not the operator's own anyway. */
export type WebhookOptions = Omit<AdmissionOptions, 'namespace' | 'namespaces' | 'clientCa'> & {
  /** Holds `AdmissionOptions.clientCa`. */
  readonly clientCaFile?: string;
};

export interface RunDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly kinds: readonly ReconciledKind[];
  /** Where the API server keeps the kinds that are not built in. */
  readonly resources: readonly Resource[];
  /** The program that serves tasks in a thread (`serveTasks`). Absent: plans are made in this thread. */
  readonly threadEntry?: URL;
  /** Default: JSON lines on stdout. */
  readonly log?: Log;
}

/** A running operator. */
export interface Running {
  /** Port of `/healthz`, `/readyz` and `/metrics`. */
  readonly healthPort: number;
  /** Port of the webhook, if there is one. */
  readonly webhookPort?: number;
  readonly synced: Promise<void>;
  /** Lets reconciles in flight end (5 s, then they are cut off), gives up the lease, closes all connections. */
  stop(): Promise<void>;
}

/** Puts the operator together and starts it; throws when the cluster cannot even be addressed. */
export const runOperator = async (options: RunOptions, deps: RunDeps): Promise<Running> => {
  const log = deps.log ?? createLog(options.logLevel);
  const connection = await connect(options.kubeconfig, deps.env);
  const pods = new Agent({ connect: { timeout: 3000 }, keepAliveTimeout: 1000 });
  const stopping = new AbortController();
  const state: State = { isSynced: false };
  const metrics = createMetrics(
    { version: VERSION, kinds: deps.resources.map(({ kind }) => kind) },
    measuredIn(state, deps.kinds),
  );
  const threads = threadsOf(deps.threadEntry);
  const { read } = threads;
  const api = clientOf(connection, deps.resources, options, { ...metrics, read });
  // The ports come before anything that would go on by itself if one were taken.
  const isReady = (): boolean => state.isSynced && !stopping.signal.aborted && state.admission?.isReady() !== false;
  const health = await serveHealth(options.healthPort, { isHealthy: () => true, isReady }, metrics);
  const close = (): Promise<unknown> => Promise.all([health.stop(), pods.destroy(), connection.close()]);
  const operatorNamespace = options.operatorNamespace ?? connection.namespace;
  const own = { ...options, operatorNamespace };
  state.admission = await admissionOf(own, { api, log, state, metrics, validate: threads.validate, read }).catch(
    async (error: unknown) => {
      await close();
      throw error;
    },
  );
  const fetchStatus = statusFetcher({ dispatcher: pods, clock: steadyClock, check: threads.check });
  const operator = operatorOf(
    own,
    { ...deps, api, log, metrics, fetchStatus, plan: threads.plan, validate: threads.validate },
    stopping.signal,
  );
  state.operator = operator;
  const synced = operator.synced.then(() => {
    state.isSynced = true;
    log.info('every watched kind was listed');
  });
  return {
    healthPort: health.port,
    ...(state.admission && { webhookPort: state.admission.port }),
    synced,
    stop: async () => {
      stopping.abort(new Error('the operator is stopping'));
      await Promise.all([operator.ended, state.admission?.stop()]);
      await Promise.all([close(), threads.stop()]);
    },
  };
};

/** Parts that exist only once the operator has started. */
interface State {
  isSynced: boolean;
  admission?: Admission | undefined;
  operator?: Operator;
}

const measuredIn = (state: State, kinds: readonly ReconciledKind[]): Measured => {
  const counted = kinds.some(({ kind }) => kind === 'VirtualMCPServer') ? ['VirtualMCPServer'] : [];
  const phaseOf = (object: KubeObject): string | undefined =>
    (object['status'] as { readonly phase?: string } | undefined)?.phase;
  return {
    backlog: () => state.operator?.backlog() ?? 0,
    phases: () => counted.flatMap((kind) => state.operator?.all(kind) ?? []).map(phaseOf),
  };
};

type OwnOptions = RunOptions & { readonly operatorNamespace: string };

type AdmissionParts = Pick<AdmissionDeps, 'api' | 'validate' | 'log'> & {
  readonly read: ReadJson;
  readonly state: State;
  readonly metrics: Metrics;
};

/** Not in a dry run: the certificates would have to be stored, and the API server be made to trust them. */
const admissionOf = async (
  { webhook, operatorNamespace, namespaces, isDryRun }: OwnOptions,
  { api, validate, read, log, state, metrics }: AdmissionParts,
): Promise<Admission | undefined> => {
  if (webhook === undefined || isDryRun) return undefined;
  const source = (): Source => {
    if (state.operator === undefined) throw new Error('the operator has not started');
    return state.operator.source;
  };
  const clientCa = webhook.clientCaFile === undefined ? undefined : await certificatesIn(webhook.clientCaFile);
  return startAdmission(
    { ...webhook, ...(clientCa !== undefined && { clientCa }), namespace: operatorNamespace, namespaces },
    { api, source, validate, read, clock: systemClock, isSynced: () => state.isSynced, log, observe: metrics.reviews },
  );
};

const certificatesIn = async (file: string): Promise<string> => {
  const text = await readFile(file, 'utf8');
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new Error(`--webhook-client-ca: ${file} holds no certificate; name a file of PEM`);
};

/** Many times what the largest useful plan takes. Large objects are rare. */
const PLANNING = { limitMs: 2_500, heapMiB: 192, idleMs: 60_000 };
/** An answer has to come while the API server waits. */
const VALIDATING = { limitMs: 3_000, heapMiB: 128, idleMs: 60_000 };
/** A change from the API server has to be parsed, however slow this machine is; it ends by itself. */
const READING = { limitMs: 600_000, heapMiB: 192, idleMs: 60_000 };

interface Threads {
  readonly plan: MakePlan;
  readonly validate: ValidateObject;
  readonly read: ReadJson;
  readonly check: CheckReport;
  readonly stop: () => Promise<unknown>;
}

/** Work whose cost users decide runs beside the thread that renews the Lease, answers probes and handles changes. */
const threadsOf = (entry: URL | undefined): Threads => {
  if (entry === undefined)
    return { plan: planHere, validate: validateHere, read: readHere, check: checkHere, stop: () => Promise.resolve() };
  const planning = new WorkThread({ entry, ...PLANNING }, steadyClock);
  const validating = new WorkThread({ entry, ...VALIDATING }, steadyClock);
  const reading = new WorkThread({ entry, ...READING }, steadyClock);
  return {
    plan: new Planner(planning, steadyClock).plan,
    validate: validateIn(validating),
    read: readWithFallback(readIn(validating), readIn(reading)),
    check: checkIn(planning),
    stop: () => Promise.all([planning, validating, reading].map((thread) => thread.stop())),
  };
};

type OperatorParts = Pick<OperatorDeps, 'kinds' | 'api' | 'fetchStatus' | 'plan' | 'validate' | 'log'> & {
  readonly metrics: Metrics;
};

const operatorOf = (options: OwnOptions, parts: OperatorParts, signal: AbortSignal): Operator => {
  const { namespaces, clusterDomain, trustedCa, runtimeImage, bridgeImage, operatorNamespace, workers, isDryRun } =
    options;
  const { kinds, api, fetchStatus, plan, validate, log, metrics } = parts;
  if (isDryRun) log.info('dry run: nothing is written, and the webhook does not answer');
  return startOperator(
    {
      namespaces,
      settings: { clusterDomain, ...(trustedCa && { trustedCa }), runtimeImage, bridgeImage, operatorNamespace },
      identity: `${hostname()}_${randomUUID()}`,
      workers,
      leaderElection: options.leaderElection && !isDryRun,
      isDryRun,
    },
    {
      kinds,
      api,
      clock: steadyClock,
      now: systemClock.now,
      random: () => Math.random(),
      unique: () => randomBytes(8).toString('hex'),
      fetchStatus,
      plan,
      validate,
      log,
      observe: metrics.work,
    },
    signal,
  );
};

/** Enough for 500 servers to converge within seconds, and a bound for everything else. */
const limits = { requestsPerSecond: 500, burst: 1000 };

const clientOf = (
  connection: Connection,
  own: readonly Resource[],
  { isDryRun }: Pick<RunOptions, 'isDryRun'>,
  { calls, read }: Pick<Metrics, 'calls'> & Pick<Threads, 'read'>,
): ApiClient => {
  const bound = {
    read,
    clock: steadyClock,
    rateLimit: rateLimit(limits, steadyClock),
    observe: calls,
  };
  const client = isDryRun ? dryRunClient : apiClient;
  return client(transport(connection, bound), resourceTable(own));
};
