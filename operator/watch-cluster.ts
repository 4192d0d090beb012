import type { Clock } from '../runtime/process/index.ts';
import type { ApiClient } from './api/client.ts';
import { isExpired } from './api/errors.ts';
import type { Selection } from './api/selection.ts';
import { type Cache, clusterCache } from './cache/cache.ts';
import type { Change } from './cache/store.ts';
import { affectedKeys, ownKeys, ownersOf } from './engine/fan-out.ts';
import { type FetchStatus, InvalidReportError } from './engine/fetch-status.ts';
import { KeyedQueue } from './engine/queue.ts';
import { StatusPoller } from './engine/status-poller.ts';
import { ValidationCache, type ValidationCacheDeps } from './engine/validation-cache.ts';
import { VerifiedSpecs } from './engine/verified-specs.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import { type KubeObject, type ObjectKey, keyFromText, keyOf, keyText } from './object.ts';
import { type Log, errorText } from './observe/log.ts';
import type { WorkObserver } from './observe/observers.ts';
import type { ValidateObject } from './offload/validate.ts';
import { lookedUpKinds } from './plan/references.ts';
import { isRuntime } from './plan/server/objects/pod-template.ts';
import { podsOfDeployment } from './read/controlled.ts';
import { type Source, clusterSource } from './read/source.ts';
import { yieldsToEventLoop } from './threads/pause.ts';
import { ApplyBackoff } from './write/apply-backoff.ts';
import { ServerMutations } from './write/server-mutations.ts';
import { StatusWriteHistory } from './write/status-write-history.ts';

export interface WatchOptions {
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Keys reconciled at once. */
  readonly workers: number;
}

export interface WatchDeps {
  readonly kinds: readonly ReconciledKind[];
  readonly api: ApiClient;
  /** For durations: monotonic. */
  readonly clock: Clock;
  readonly random: () => number;
  readonly fetchStatus: FetchStatus;
  readonly validate: ValidateObject;
  readonly log: Log;
  readonly observe: WorkObserver;
}

/** What every replica does, leading or not: it caches the cluster and queues the keys to reconcile. */
export interface ClusterWatch {
  readonly cache: Cache;
  readonly source: Source;
  readonly queue: KeyedQueue;
  readonly statusPoller: StatusPoller;
  /** The runtimes, by controller, up to the resource: no other pod is asked, marked or reported. */
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly serverMutations: ServerMutations;
  readonly statusWrites: StatusWriteHistory;
  readonly applyBackoff: ApplyBackoff;
  readonly synced: Promise<void>;
  readonly ended: Promise<void>;
}

const retry = { baseMs: 1000, maxMs: 300_000 };

/** docs/decisions.md "No write without a reason" */
const debounce = { debounceMs: 500, maxDebounceMs: 3000 };

/** Starts the watches. `synced` resolves after the first list of every kind; all ends when the signal is aborted. */
export const watchCluster = (options: WatchOptions, deps: WatchDeps, signal: AbortSignal): ClusterWatch => {
  const { kinds, clock, random, log } = deps;
  const state = { isSynced: false };
  const queue = queueOf(options, deps);
  const serverMutations = new ServerMutations();
  const statusWrites = new StatusWriteHistory(clock.now);
  const accepted = new VerifiedSpecs();
  const applyBackoff = new ApplyBackoff(clock.now);
  const add = (key: ObjectKey): void => queue.add(keyText(key));
  const validationCache = validationCacheFor(deps, (after) => affectedKeys(kinds, source, { after }).forEach(add));
  const follow = (change: Change): void => {
    if (change.before !== undefined && change.before.metadata.uid !== change.after?.metadata.uid) {
      const { uid = '' } = change.before.metadata;
      [serverMutations, statusWrites, accepted, applyBackoff].forEach((memory) => memory.forget(uid));
    }
    if (change.after !== undefined) statusWrites.observe(change.after);
    validationCache.observe(change);
    podOwners(kinds, change).forEach((owner) => statusPoller.pollSoon(owner));
    const { before, after } = change;
    if (before === undefined && after !== undefined && runsPods(kinds, after)) queue.addNew(keyText(keyOf(after)));
    (state.isSynced ? affectedKeys(kinds, source, change) : ownKeys(kinds, change)).forEach(add);
  };
  const onChange = isolatingErrors(follow, { log, onError: (change) => ownKeys(kinds, change).forEach(add) });
  const cache = clusterCache(
    { kinds: watchedKinds(kinds), namespaces: options.namespaces },
    { api: deps.api, clock, random, onFailure: logInterruption(deps), onChange },
  );
  const podsOf = runtimesIn(cache);
  const statusPoller = new StatusPoller({
    podsOf,
    fetchStatus: deps.fetchStatus,
    clock,
    onUnreachable: logUnreachable(deps),
    onChange: add,
  });
  const source = clusterSource({
    get: cache.get,
    list: cache.list,
    reports: (owner) => statusPoller.reports(owner),
    lastVerified: (server, proven) => accepted.last(server, proven),
    firstViolationOf: validationCache.firstViolationOf,
    settled: (namespace) => validationCache.settled(namespace),
  });
  const { synced, ended } = cache.start(signal);
  const markSynced = (): void => {
    state.isSynced = true;
  };
  return {
    cache,
    source,
    queue,
    statusPoller,
    podsOf,
    serverMutations,
    statusWrites,
    applyBackoff,
    synced: synced.then(markSynced),
    ended,
  };
};

/** A handler that fails on one object must not end the watch for all others. */
export const isolatingErrors =
  (follow: (change: Change) => void, deps: Pick<WatchDeps, 'log'> & { readonly onError: typeof follow }) =>
  (change: Change): void => {
    try {
      follow(change);
    } catch (error) {
      const { kind, metadata } = change.after ?? change.before ?? { metadata: undefined };
      const { namespace, name } = metadata ?? {};
      deps.log.error({ kind, namespace, name, error: errorText(error) }, 'a change cannot be followed');
      deps.onError(change);
    }
  };

const logInterruption =
  ({ log, observe }: WatchDeps) =>
  (selection: Selection, error: unknown): void => {
    observe.watchInterrupted(selection.kind);
    // The API server forgets old versions as a matter of course; the informer lists again.
    const level = isExpired(error) ? 'info' : 'warn';
    log[level]({ ...selection, error: errorText(error) }, 'watch interrupted');
  };

const logUnreachable =
  ({ log }: WatchDeps) =>
  ({ metadata: { namespace, name } }: KubeObject, error: unknown): void => {
    // A pod that starts or stops does not answer for a while; an invalid answer deserves a warning.
    const level = error instanceof InvalidReportError ? 'warn' : 'debug';
    log[level]({ namespace, pod: name, error: errorText(error) }, 'a pod does not tell its status');
  };

const validationCacheFor = (
  { kinds, validate, log }: WatchDeps,
  onLate: ValidationCacheDeps['onLate'],
): ValidationCache =>
  new ValidationCache({
    validate,
    kinds: new Set(kinds.flatMap(({ kind }) => lookedUpKinds(kind))),
    pause: yieldsToEventLoop(),
    onLate,
    onFailure: (error) => log.warn({ error: errorText(error) }, 'an object could not be judged'),
  });

/** Whether pods are made for the object: its user waits for those. */
const runsPods = (kinds: readonly ReconciledKind[], { kind }: KubeObject): boolean =>
  kinds.some((each) => each.kind === kind && each.owns.includes('Deployment'));

const queueOf = ({ workers }: WatchOptions, { clock, random, log, observe }: WatchDeps): KeyedQueue =>
  new KeyedQueue(
    {
      workers,
      // A worker that waits for an answer is not available to others.
      maxWorkersPerTenant: Math.max(1, Math.floor((workers * 3) / 4)),
      tenantOf: (key) => keyFromText(key).namespace,
      retry,
      ...debounce,
    },
    {
      clock,
      random,
      onTaken: observe.waited,
      onFailure: (key, error, delayMs) => {
        observe.failed(keyFromText(key).kind);
        log.warn({ key, error: errorText(error), delayMs }, 'reconcile failed');
      },
    },
  );

const runtimesIn =
  (cache: Cache): ClusterWatch['podsOf'] =>
  (owner) =>
    [cache.get(owner)]
      .filter((object) => object !== undefined)
      .flatMap((object) =>
        cache
          .controlledBy('Deployment', object)
          .filter((deployment) => isInFront(object, deployment))
          .flatMap((deployment) => podsOfDeployment(deployment, cache.controlledBy))
          .filter((pod) => isRuntime(object, pod)),
      );

/** Pods are watched in any case, for every runtime that is asked or marked is one, and so is what leads to them. */
const watchedKinds = (kinds: readonly ReconciledKind[]): readonly string[] => [
  ...new Set([
    'Pod',
    'ReplicaSet',
    'Deployment',
    ...kinds.flatMap(({ kind, owns, reads }) => [kind, ...owns, ...reads]),
  ]),
];

const podOwners = (kinds: readonly ReconciledKind[], { before, after }: Change): readonly ObjectKey[] => {
  const object = after ?? before;
  return object?.kind === 'Pod' ? ownersOf(kinds, object) : [];
};

/**
 * Whether the Deployment is the runtime's. The container behind it is a third party and is not polled, since the
 * request carries a token of ours. Neither are pods from before a runtime stood in front.
 */
const isInFront = (owner: KubeObject, { metadata }: KubeObject): boolean =>
  metadata.labels?.['app.kubernetes.io/component'] !== `${owner.kind.toLowerCase()}-backend`;
