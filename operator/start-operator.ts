import { sleep, type Clock } from '../runtime/process/index.ts';
import { whileHeld } from './api/while-held.ts';
import { type Followed, ask, follow } from './engine/follow.ts';
import { KnownIssuer } from './engine/known-issuer.ts';
import { type Lead, STOP_WITHIN_MS, elect, endWithin } from './engine/leader.ts';
import { type ManagementKeys, managementKeys } from './engine/management-keys.ts';
import { errorText } from './observe/log.ts';
import type { Source } from './read/source.ts';
import { aborted, orAborted } from './aborted.ts';
import { keyOf, keyText } from './object.ts';
import { reconcileIn, type ReconcileOptions, type ReconcileDeps } from './reconcile-key.ts';
import { type WatchDeps, type WatchOptions, type Watching, watchCluster } from './watch-cluster.ts';

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
  readonly all: Watching['cache']['all'];
  /** Resolves after the signal was aborted and the last reconcile ended. */
  readonly ended: Promise<void>;
}

/** Watches everywhere, acts while it leads, until `signal` is aborted. No fault of the cluster ends it. */
export const startOperator = (options: OperatorOptions, deps: OperatorDeps, signal: AbortSignal): Operator => {
  const watching = watchCluster(options, deps, signal);
  const { identity } = options;
  const lead: Lead = async (ending, over, isHeld) => {
    deps.log.info({ identity }, 'leading');
    deps.observe.leads(!options.isDryRun);
    await act(watching, options, { ...deps, api: whileHeld(deps.api, isHeld) }, { ending, over });
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
  await endWithin({ clock, ms: STOP_WITHIN_MS }, term, leading);
};

interface Term {
  readonly ending: AbortSignal;
  readonly over: AbortSignal;
}

/** A term of leadership: from the first reconcile to the last. */
const act = async (
  watching: Watching,
  options: OperatorOptions,
  deps: OperatorDeps,
  { ending, over }: Term,
): Promise<void> => {
  await untilAborted(ending, async () => {
    await orAborted(watching.synced, ending);
    const keys = await keysWithPatience(options.settings.operatorNamespace, deps, ending);
    watching.puller.start(keys.token, ending);
    const issuers = new KnownIssuer(deps.api);
    const followed = { keys: followedKeys(keys, watching, deps), issuers: followedIssuer(issuers, watching, deps) };
    await ask(followed.issuers, ending);
    await Promise.all([
      follow(followed.keys, deps.clock, ending),
      follow(followed.issuers, deps.clock, ending),
      watching.queue.run(reconcileIn(watching, options, deps, { keys, issuers }), ending, over),
    ]);
  });
};

/** Kept equal to their Secret, so that deleting it is all it takes to have a new one. */
const followedKeys = ({ refresh }: ManagementKeys, { puller, queue }: Watching, { log }: OperatorDeps): Followed => ({
  refresh,
  everyMs: 30_000,
  // Their public halves are part of what is rendered.
  onChange: () => puller.followed().forEach((server) => queue.touch(keyText(server))),
  onFailure: (error) =>
    log.error({ error: errorText(error) }, 'the keys for the management ports cannot be read; the known ones stay'),
});

const followedIssuer = (issuers: KnownIssuer, { cache, queue }: Watching, { kinds, log }: OperatorDeps): Followed => ({
  refresh: (signal) => issuers.refresh(signal),
  // Kubernetes keeps an old key valid for as long as tokens that it signed live, an hour at least.
  everyMs: 5 * 60_000,
  // One that waits for this is not followed.
  onChange: () =>
    kinds
      .filter(({ owns }) => owns.includes('ConfigMap'))
      .flatMap(({ kind }) => cache.all(kind))
      .forEach((server) => queue.touch(keyText(keyOf(server)))),
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

const keysWithPatience = async (
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
