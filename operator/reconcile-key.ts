import type { Clock } from '../runtime/process/index.ts';
import type { ApiClient } from './api/client.ts';
import { observeWrites } from './api/observe-writes.ts';
import { configMapReader } from './engine/config-map-reader.ts';
import { recordEvents } from './engine/events.ts';
import type { KnownIssuer } from './engine/known-issuer.ts';
import type { ManagementKeys } from './engine/management-keys.ts';
import type { Work } from './engine/queue.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import { errorText, type Log } from './observe/log.ts';
import type { ReconcileResult, WorkObserver } from './observe/observers.ts';
import type { MakePlan } from './offload/planner.ts';
import type { Settings } from './plan/settings.ts';
import { DryRunReporter } from './write/dry-run-reporter.ts';
import { keyFromText, keyText } from './object.ts';
import type { ReconcileContext } from './reconcile-context.ts';
import { type Reconciled, reconcile } from './reconcile.ts';
import type { ClusterWatch } from './watch-cluster.ts';
import { yieldsToEventLoop } from './threads/pause.ts';

/** What is the same in every reconcile of this process. */
export interface ReconcileOptions {
  readonly settings: Omit<Settings, 'operatorKeys' | 'mac' | 'clusterIssuer'>;
  /** Unique to this process; also the name under which it reports events. */
  readonly identity: string;
  /** `api` makes no writes; each write that would be made is logged. */
  readonly isDryRun: boolean;
}

export interface ReconcileDeps {
  readonly kinds: readonly ReconciledKind[];
  readonly api: ApiClient;
  /** For durations: monotonic. */
  readonly clock: Clock;
  /** Time of day. */
  readonly now: () => number;
  /** A short text that no other call returned. */
  readonly unique: () => string;
  /** Makes the plans. */
  readonly plan: MakePlan;
  readonly log: Log;
  readonly observe: WorkObserver;
}

/** Values that change while the operator runs and are rendered for every server. */
export interface LiveSettings {
  /** For the management ports, and for what is kept of accepted specs. */
  readonly keys: Pick<ManagementKeys, 'publicKeys' | 'mac' | 'macKeys'>;
  readonly issuers: Pick<KnownIssuer, 'issuer'>;
}

/** The work of the queue: reconciles one key of this cluster. */
export const reconciler = (
  watching: ClusterWatch,
  options: ReconcileOptions,
  deps: ReconcileDeps,
  told: LiveSettings,
): Work => {
  const kinds = new Map(deps.kinds.map((kind) => [kind.kind, kind]));
  const attempt = options.isDryRun ? dryRun(watching, deps) : liveRun(deps);
  // What it remembers outlives a reconcile.
  const readContent = configMapReader(deps.api);
  // A reconcile without I/O must yield, so that others and their results get their turn.
  const pause = yieldsToEventLoop();
  return async (text, signal, isEarly) => {
    await pause();
    const subject = keyFromText(text);
    const kind = kinds.get(subject.kind);
    if (kind === undefined) return {};
    let writes = 0;
    const work = (api: ApiClient): Promise<Reconciled> => {
      const counting = observeWrites(api, ({ error }) => (writes += error === undefined ? 1 : 0));
      return reconcile(
        kind,
        subject,
        { ...contextOf(watching, options, { ...deps, api: counting }, told), readContent },
        { signal, isEarly },
      );
    };
    return measured(subject.kind, deps, signal, async () => {
      const done = await attempt(text, work);
      return { ...done, result: done.isRefused === true ? 'refused' : writes > 0 ? 'written' : 'unchanged' };
    });
  };
};

/** Reports the result and the duration of a reconcile. An aborted one is not reported. */
const measured = async <T extends { readonly result: ReconcileResult }>(
  kind: string,
  { clock, observe }: Pick<ReconcileDeps, 'clock' | 'observe'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> => {
  const beganAt = clock.now();
  try {
    const done = await work();
    observe.reconciled(kind, done.result, clock.now() - beganAt);
    return done;
  } catch (error) {
    if (!signal.aborted) observe.reconciled(kind, 'error', clock.now() - beganAt);
    throw error;
  }
};

/** Runs the reconcile of this key with a client. */
type Attempt = (key: string, work: (api: ApiClient) => Promise<Reconciled>) => Promise<Reconciled>;

const liveRun =
  ({ api }: ReconcileDeps): Attempt =>
  (_, work) =>
    work(api);

const dryRun = ({ cache }: ClusterWatch, { api, log }: ReconcileDeps): Attempt => {
  const onWrite = (write: object): void => log.info({ dryRun: true, ...write }, 'would write');
  const reporter = new DryRunReporter({ api, live: cache.get, onWrite });
  return (key, work) => reporter.run(key, work);
};

const contextOf = (
  watching: ClusterWatch,
  options: ReconcileOptions,
  deps: ReconcileDeps,
  told: LiveSettings,
): Omit<ReconcileContext, 'readContent'> => {
  const { cache, source, podsOf, statusPoller, serverMutations, statusWrites, applyBackoff } = watching;
  const { api, now, unique, log } = deps;
  const events = {
    api,
    now,
    unique,
    instance: options.identity,
    onFailure: (error: unknown) => log.warn({ error: errorText(error) }, 'an event was not taken'),
  };
  const settings = settingsOf(options, told);
  return {
    source,
    settings,
    plan: (kind, owner, bundle, signal) =>
      deps.plan({ kind, owner, bundle, settings, macKeys: told.keys.macKeys() }, signal),
    api,
    // The answer to a dry run is no state of the cluster.
    cache: options.isDryRun ? { ...cache, put: () => {} } : cache,
    serverMutations,
    statusWrites,
    applyBackoff,
    now,
    podsOf,
    record: (regarding, planned, signal) => recordEvents(regarding, planned, events, signal),
    onStatusRefused: (key, error) =>
      log.error({ key: keyText(key), error: errorText(error) }, 'the API server does not take this status'),
    pollPods: (owner, uid, everyMs) => statusPoller.poll(owner, uid, everyMs),
    forget: (owner) => statusPoller.forget(owner),
  };
};

const settingsOf = ({ settings }: ReconcileOptions, { keys, issuers }: LiveSettings): Settings => ({
  ...settings,
  operatorKeys: keys.publicKeys(),
  mac: keys.mac,
  ...(issuers.issuer && { clusterIssuer: issuers.issuer }),
});
