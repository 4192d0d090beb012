import { type Admission, type AdmissionOptions, startAdmission } from './admission/index.ts';
import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Agent } from 'undici';
import { apiClient } from './api/client.ts';
import type { ApiClient } from './api/client.ts';
import { connect } from './api/kubeconfig.ts';
import type { Connection } from './api/kubeconfig.ts';
import { rateLimit } from './api/rate-limit.ts';
import { resourceTable } from './api/resources.ts';
import type { Resource } from './api/resources.ts';
import { transport } from './api/transport.ts';
import { startOperator } from './engine/operator.ts';
import { askStatus } from './engine/ask-status.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import { serveHealth } from './observe/health.ts';
import { createLog } from './observe/log.ts';
import type { Log } from './observe/log.ts';
import { systemClock } from '../runtime/system-clock.ts';

export interface RunOptions {
  /** Absent: as the pod it runs in, or by the usual kubeconfig. */
  readonly kubeconfig?: string;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Holds the Lease and the Secret of the management key. Absent: the namespace of the connection. */
  readonly operatorNamespace?: string;
  readonly runtimeImage: string;
  readonly clusterDomain: string;
  readonly healthPort: number;
  /** Absent: no webhook; what it would refuse is told by conditions. */
  readonly webhook?: WebhookOptions;
  readonly workers: number;
  readonly leaderElection: boolean;
  readonly logLevel: string;
}

/** What of the webhook is not the operator's own anyway. */
export type WebhookOptions = Omit<AdmissionOptions, 'namespace' | 'namespaces'>;

export interface RunDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly kinds: readonly ReconciledKind[];
  /** Where the API server keeps the kinds that are not built in. */
  readonly resources: readonly Resource[];
  /** Default: JSON lines on stdout. */
  readonly log?: Log;
}

/** A running operator. */
export interface Running {
  /** Port of `/healthz` and `/readyz`. */
  readonly healthPort: number;
  /** Port of the webhook, if there is one. */
  readonly webhookPort?: number;
  readonly synced: Promise<void>;
  /** Cuts off the requests of reconciles in flight, waits for these to end, gives up the lease, closes all connections. */
  stop(): Promise<void>;
}

/** Puts the operator together and starts it; throws when the cluster cannot even be addressed. */
export const runOperator = async (options: RunOptions, deps: RunDeps): Promise<Running> => {
  const log = deps.log ?? createLog(options.logLevel);
  const connection = await connect(options.kubeconfig, deps.env);
  const pods = new Agent({ connect: { timeout: 3000 }, keepAliveTimeout: 1000 });
  const stopping = new AbortController();
  const state: { isSynced: boolean; admission?: Admission } = { isSynced: false };
  const api = clientOf(connection, deps.resources);
  const operatorNamespace = options.operatorNamespace ?? connection.namespace;
  // The ports come before anything that would go on by itself if one were taken.
  const health = await serveHealth(options.healthPort, {
    isHealthy: () => true,
    isReady: () => state.isSynced && !stopping.signal.aborted && state.admission?.isReady() !== false,
  });
  const close = (): Promise<unknown> => Promise.all([health.stop(), pods.destroy(), connection.close()]);
  const { webhook, namespaces } = options;
  if (webhook !== undefined) {
    const isSynced = (): boolean => state.isSynced;
    state.admission = await startAdmission(
      { ...webhook, namespace: operatorNamespace, namespaces },
      { api, source: () => operator.source, clock: systemClock, isSynced, log },
    ).catch(async (error: unknown) => {
      await close();
      throw error;
    });
  }
  const operator = startOperator(
    {
      namespaces,
      settings: { clusterDomain: options.clusterDomain, runtimeImage: options.runtimeImage, operatorNamespace },
      identity: `${hostname()}_${randomUUID()}`,
      workers: options.workers,
      leaderElection: options.leaderElection,
    },
    {
      kinds: deps.kinds,
      api,
      clock: systemClock,
      random: () => Math.random(),
      unique: () => randomBytes(8).toString('hex'),
      ask: (podIP, token, signal) => askStatus({ podIP, token }, { dispatcher: pods, clock: systemClock }, signal),
      log,
    },
    stopping.signal,
  );
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
      await close();
    },
  };
};

/** Enough for 500 servers to converge within seconds, and a bound for everything else. */
const limits = { requestsPerSecond: 500, burst: 1000 };

const clientOf = (connection: Connection, own: readonly Resource[]): ApiClient =>
  apiClient(
    transport(connection, { clock: systemClock, rateLimit: rateLimit(limits, systemClock) }),
    resourceTable(own),
  );
