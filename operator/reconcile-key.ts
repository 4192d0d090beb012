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
import { Rehearsal } from './write/rehearsal.ts';
import { keyFromText, keyText } from './object.ts';
import type { ReconcileContext } from './reconcile-context.ts';
import { type Reconciled, reconcile } from './reconcile.ts';
import type { Watching } from './watch-cluster.ts';
import { pauses } from './threads/pause.ts';

export interface ReconcileOptions {
  readonly settings: Omit<Settings, 'operatorKeys' | 'seal' | 'clusterIssuer'>;
  /** Unique to this process; also the name under which it reports events. */
  readonly identity: string;
  /** `api` makes no write: the log tells of each that would be made. */
  readonly isDryRun: boolean;
}

export interface ReconcileDeps {
  readonly kinds: readonly ReconciledKind[];
  readonly api: ApiClient;
  /** For durations; nobody sets it while we run. */
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

/** What changes while the operator runs, and is rendered for every server. */
export interface Told {
  /** For the management ports, and for what is kept of accepted specs. */
  readonly keys: Pick<ManagementKeys, 'publicKeys' | 'seal' | 'sealKeys'>;
  readonly issuers: Pick<KnownIssuer, 'issuer'>;
}

/** Reconciling a key in this cluster. */
export const reconcileIn = (watching: Watching, options: ReconcileOptions, deps: ReconcileDeps, told: Told): Work => {
  const kinds = new Map(deps.kinds.map((kind) => [kind.kind, kind]));
  const attempt = options.isDryRun ? rehearsing(watching, deps) : acting(deps);
  // What it remembers outlives a reconcile.
  const readContent = configMapReader(deps.api);
  // Who has nothing to wait for must not keep the others, and what they have arrived at, from their turn.
  const pause = pauses();
  return async (text, signal, isHasty) => {
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
        { signal, isHasty },
      );
    };
    return counted(subject.kind, deps, signal, async () => {
      const done = await attempt(text, work);
      return { ...done, result: done.isRefused === true ? 'refused' : writes > 0 ? 'written' : 'unchanged' };
    });
  };
};

/** Tells what came of it, and how long it took. That it was cut off is nothing that came of it. */
const counted = async <T extends { readonly result: ReconcileResult }>(
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

const acting =
  ({ api }: ReconcileDeps): Attempt =>
  (_, work) =>
    work(api);

const rehearsing = ({ cache }: Watching, { api, log }: ReconcileDeps): Attempt => {
  const tell = (write: object): void => log.info({ dryRun: true, ...write }, 'would write');
  const rehearsal = new Rehearsal({ api, live: cache.get, tell });
  return (key, work) => rehearsal.run(key, work);
};

const contextOf = (
  watching: Watching,
  options: ReconcileOptions,
  deps: ReconcileDeps,
  told: Told,
): Omit<ReconcileContext, 'readContent'> => {
  const { cache, source, podsOf, puller, rewrites, statusWrites, unsent } = watching;
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
      deps.plan({ kind, owner, bundle, settings, sealKeys: told.keys.sealKeys() }, signal),
    api,
    // The answer to a dry run is no state of the cluster.
    cache: options.isDryRun ? { ...cache, put: () => {} } : cache,
    rewrites,
    statusWrites,
    unsent,
    now,
    podsOf,
    record: (regarding, planned, signal) => recordEvents(regarding, planned, events, signal),
    onStatusRefused: (key, error) =>
      log.error({ key: keyText(key), error: errorText(error) }, 'the API server does not take this status'),
    followPods: (owner, uid, everyMs) => puller.follow(owner, uid, everyMs),
    forget: (owner) => puller.forget(owner),
  };
};

const settingsOf = ({ settings }: ReconcileOptions, { keys, issuers }: Told): Settings => ({
  ...settings,
  operatorKeys: keys.publicKeys(),
  seal: keys.seal,
  ...(issuers.issuer && { clusterIssuer: issuers.issuer }),
});
