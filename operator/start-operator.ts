import { sleep, type Clock } from '../runtime/process/index.ts';
import { leaseGuarded } from './api/lease-guard.ts';
import { type Polled, pollOnce, poll } from './engine/poll.ts';
import { KnownIssuer } from './engine/known-issuer.ts';
import { type Lead, STOP_WITHIN_MS, elect, awaitOrCancel } from './engine/leader.ts';
import { type ManagementKeys, managementKeys } from './engine/management-keys.ts';
import { errorText } from './observe/log.ts';
import type { Source } from './read/source.ts';
import { aborted, abortable } from './aborted.ts';
import { keyOf, keyText } from './object.ts';
import { reconciler, type ReconcileOptions, type ReconcileDeps } from './reconcile-key.ts';
import { type WatchDeps, type WatchOptions, type ClusterWatch, watchCluster } from './watch-cluster.ts';

export interface OperatorOptions extends WatchOptions, ReconcileOptions {
  /** False: act at once, for a process that is known to be alone. */
  readonly leaderElection: boolean;
}

export type OperatorDeps = WatchDeps & ReconcileDeps;

export interface Operator {
  /** Everything that is watched. */
  readonly source: Source;
  /** Every watched kind was listed once. */
  readonly synced: Promise<void>;
  /** Keys that are due and wait for a worker. */
  readonly backlog: () => number;
  /** Every object of a watched kind. */
  readonly all: ClusterWatch['cache']['all'];
  /** Resolves after the signal was aborted and the last reconcile ended. */
  readonly ended: Promise<void>;
}

/** Watches everywhere, acts while it leads, until `signal` is aborted. No error of the cluster ends it. */
export const startOperator = (options: OperatorOptions, deps: OperatorDeps, signal: AbortSignal): Operator => {
  const watching = watchCluster(options, deps, signal);
  const { identity } = options;
  const lead: Lead = async (stopping, cancelled, isHeld) => {
    deps.log.info({ identity }, 'leading');
    deps.observe.leads(!options.isDryRun);
    await act(watching, options, { ...deps, api: leaseGuarded(deps.api, isHeld) }, { stopping, cancelled });
    deps.observe.leads(false);
    deps.log.info({ identity }, 'no longer leading');
  };
  const namespace = options.settings.operatorNamespace;
  const onFailure = (error: unknown): void => deps.log.warn({ error: errorText(error) }, 'leader election failed');
  const acting = options.leaderElection
    ? elect({ namespace, identity }, { api: deps.api, clock: deps.clock, now: deps.now, onFailure }, lead, signal)
    : leadAlone(lead, deps.clock, signal);
  const ended = Promise.all([watching.ended, acting]).then(() => watching.queue.clear());
  const { source, synced, queue, cache } = watching;
  return { source, synced, ended, backlog: () => queue.backlog, all: cache.all };
};

const leadAlone = async (lead: Lead, clock: Clock, signal: AbortSignal): Promise<void> => {
  const term = new AbortController();
  const leading = lead(signal, term.signal, () => true);
  await aborted(signal);
  await awaitOrCancel({ clock, ms: STOP_WITHIN_MS }, term, leading);
};

interface Term {
  readonly stopping: AbortSignal;
  readonly cancelled: AbortSignal;
}

/** A term of leadership: from the first reconcile to the last. */
const act = async (
  watching: ClusterWatch,
  options: OperatorOptions,
  deps: OperatorDeps,
  { stopping, cancelled }: Term,
): Promise<void> => {
  await untilAborted(stopping, async () => {
    await abortable(watching.synced, stopping);
    const keys = await keysWithRetry(options.settings.operatorNamespace, deps, stopping);
    watching.statusPoller.start(keys.token, stopping);
    const issuers = new KnownIssuer(deps.api);
    const polled = { keys: polledKeys(keys, watching, deps), issuers: polledIssuer(issuers, watching, deps) };
    await pollOnce(polled.issuers, stopping);
    await Promise.all([
      poll(polled.keys, deps.clock, stopping),
      poll(polled.issuers, deps.clock, stopping),
      watching.queue.run(reconciler(watching, options, deps, { keys, issuers }), stopping, cancelled),
    ]);
  });
};

/** Kept equal to their Secret, so that deleting it is all it takes to have a new one. */
const polledKeys = (
  { refresh }: ManagementKeys,
  { statusPoller, queue }: ClusterWatch,
  { log }: OperatorDeps,
): Polled => ({
  refresh,
  everyMs: 30_000,
  // Their public halves are part of what is rendered.
  onChange: () => statusPoller.polledServers().forEach((server) => queue.add(keyText(server))),
  onFailure: (error) =>
    log.error({ error: errorText(error) }, 'the keys for the management ports cannot be read; the known ones stay'),
});

const polledIssuer = (issuers: KnownIssuer, { cache, queue }: ClusterWatch, { kinds, log }: OperatorDeps): Polled => ({
  refresh: (signal) => issuers.refresh(signal),
  // Kubernetes keeps an old key valid for as long as tokens that it signed live, an hour at least.
  everyMs: 5 * 60_000,
  // One that waits for this is not followed.
  onChange: () =>
    kinds
      .filter(({ owns }) => owns.includes('ConfigMap'))
      .flatMap(({ kind }) => cache.all(kind))
      .forEach((server) => queue.add(keyText(keyOf(server)))),
  onFailure: (error) =>
    log.warn({ error: errorText(error) }, 'who issues service-account tokens cannot be read; trying again'),
});

/** Runs `work`; that it throws because of the abort is its ordinary end. */
const untilAborted = async (signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!signal.aborted) {
      throw error;
    }
  }
};

const keysWithRetry = async (
  namespace: string,
  { api, clock, now, log }: OperatorDeps,
  signal: AbortSignal,
): Promise<ManagementKeys> => {
  for (;;) {
    try {
      return await managementKeys(namespace, { api, now }, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.error({ error: errorText(error) }, 'the keys for the management ports cannot be had; trying again');
      await sleep(clock, 5000, signal);
    }
  }
};
