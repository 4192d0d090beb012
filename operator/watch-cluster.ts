import type { Clock } from '../runtime/process/index.ts';
import type { ApiClient } from './api/client.ts';
import { isExpired } from './api/errors.ts';
import type { Selection } from './api/selection.ts';
import { type Cache, clusterCache } from './cache/cache.ts';
import type { Change } from './cache/store.ts';
import { NoReport, type AskStatus } from './engine/ask-status.ts';
import { affectedKeys, ownersOf, ownKeys } from './engine/fan-out.ts';
import { Judgements, type JudgementDeps } from './engine/judgements.ts';
import { ProvenSpecs } from './engine/proven-specs.ts';
import { KeyedQueue } from './engine/queue.ts';
import { StatusPuller } from './engine/status-puller.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import { errorText, type Log } from './observe/log.ts';
import type { WorkObserver } from './observe/observers.ts';
import type { Judge } from './offload/judge.ts';
import { lookedUpKinds } from './plan/references.ts';
import { isRuntime } from './plan/server/objects/pod-template.ts';
import { clusterSource } from './read/cluster.ts';
import { podsOfDeployment } from './read/controlled.ts';
import type { Source } from './read/source.ts';
import { pauses } from './threads/pause.ts';
import { Rewrites } from './write/rewrites.ts';
import { StatusWrites } from './write/status-writes.ts';
import { UnsentChildren } from './write/unsent.ts';
import { type KubeObject, type ObjectKey, keyFromText, keyOf, keyText } from './object.ts';

export interface WatchOptions {
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Keys reconciled at once. */
  readonly workers: number;
}

export interface WatchDeps {
  readonly kinds: readonly ReconciledKind[];
  readonly api: ApiClient;
  /** For durations; nobody sets it while we run. */
  readonly clock: Clock;
  readonly random: () => number;
  readonly ask: AskStatus;
  readonly judge: Judge;
  readonly log: Log;
  readonly observe: WorkObserver;
}

/** What every replica does, leading or not: it knows the cluster, and which keys need a look. */
export interface Watching {
  readonly cache: Cache;
  readonly source: Source;
  readonly queue: KeyedQueue;
  readonly puller: StatusPuller;
  /** The runtimes, by controller, up to the resource: no other pod is asked, marked or reported. */
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly rewrites: Rewrites;
  readonly statusWrites: StatusWrites;
  readonly unsent: UnsentChildren;
  readonly synced: Promise<void>;
  readonly ended: Promise<void>;
}

const retry = { baseMs: 1000, maxMs: 300_000 };

/** docs/decisions.md "No write without a reason" */
const quiet = { quietMs: 500, quietAtMostMs: 3000 };

export const watchCluster = (options: WatchOptions, deps: WatchDeps, signal: AbortSignal): Watching => {
  const { kinds, clock, random, log, observe } = deps;
  const state = { isSynced: false };
  const queue = queueOf(options, deps);
  const rewrites = new Rewrites();
  const statusWrites = new StatusWrites(clock.now);
  const accepted = new ProvenSpecs();
  const unsent = new UnsentChildren(clock.now);
  const touch = (key: ObjectKey): void => queue.touch(keyText(key));
  const judgements = judgementsFor(deps, (after) => affectedKeys(kinds, source, { after }).forEach(touch));
  const follow = (change: Change): void => {
    if (change.before !== undefined && change.before.metadata.uid !== change.after?.metadata.uid) {
      const { uid = '' } = change.before.metadata;
      [rewrites, statusWrites, accepted, unsent].forEach((memory) => memory.forget(uid));
    }
    if (change.after !== undefined) statusWrites.saw(change.after);
    judgements.saw(change);
    podOwners(kinds, change).forEach((owner) => puller.poke(owner));
    const { before, after } = change;
    if (before === undefined && after !== undefined && runsPods(kinds, after)) queue.touchNew(keyText(keyOf(after)));
    (state.isSynced ? affectedKeys(kinds, source, change) : ownKeys(kinds, change)).forEach(touch);
  };
  const onChange = unharmed(follow, { log, onFault: (change) => ownKeys(kinds, change).forEach(touch) });
  const onFailure = (selection: Selection, error: unknown): void => {
    observe.watchInterrupted(selection.kind);
    // The API server forgets old versions as a matter of course; a new list is all that follows.
    const level = isExpired(error) ? 'info' : 'warn';
    log[level]({ ...selection, error: errorText(error) }, 'watch interrupted');
  };
  const cache = clusterCache(
    { kinds: watchedKinds(kinds), namespaces: options.namespaces },
    { api: deps.api, clock, random, onFailure, onChange },
  );
  const podsOf = runtimesIn(cache);
  const puller = new StatusPuller({ podsOf, ask: deps.ask, clock, onSilence: tellingOfSilence(deps), onChange: touch });
  const source = clusterSource({
    get: cache.get,
    list: cache.list,
    reports: (owner) => puller.reports(owner),
    lastProven: (server, proven) => accepted.last(server, proven),
    brokenRuleOf: judgements.brokenRuleOf,
    settled: (namespace) => judgements.settled(namespace),
  });
  const { synced, ended } = cache.start(signal);
  const markSynced = (): void => {
    state.isSynced = true;
  };
  return {
    cache,
    source,
    queue,
    puller,
    podsOf,
    rewrites,
    statusWrites,
    unsent,
    synced: synced.then(markSynced),
    ended,
  };
};

/** What cannot be followed is of one object: the watch goes on for all others. */
export const unharmed =
  (follow: (change: Change) => void, deps: Pick<WatchDeps, 'log'> & { readonly onFault: typeof follow }) =>
  (change: Change): void => {
    try {
      follow(change);
    } catch (error) {
      const { kind, metadata } = change.after ?? change.before ?? { metadata: undefined };
      const { namespace, name } = metadata ?? {};
      deps.log.error({ kind, namespace, name, error: errorText(error) }, 'a change cannot be followed');
      deps.onFault(change);
    }
  };

const tellingOfSilence =
  ({ log }: WatchDeps) =>
  ({ metadata: { namespace, name } }: KubeObject, error: unknown): void => {
    // A pod that starts or ends does not answer for a while; one that answers nonsense is worth a look.
    const level = error instanceof NoReport ? 'warn' : 'debug';
    log[level]({ namespace, pod: name, error: errorText(error) }, 'a pod does not tell its status');
  };

const judgementsFor = ({ kinds, judge, log }: WatchDeps, onLate: JudgementDeps['onLate']): Judgements =>
  new Judgements({
    judge,
    kinds: new Set(kinds.flatMap(({ kind }) => lookedUpKinds(kind))),
    pause: pauses(),
    onLate,
    onFailure: (error) => log.warn({ error: errorText(error) }, 'an object could not be judged'),
  });

/** Of one that pods are made for: somebody is waiting for those. */
const runsPods = (kinds: readonly ReconciledKind[], { kind }: KubeObject): boolean =>
  kinds.some((each) => each.kind === kind && each.owns.includes('Deployment'));

const queueOf = ({ workers }: WatchOptions, { clock, random, log, observe }: WatchDeps): KeyedQueue =>
  new KeyedQueue(
    {
      workers,
      // A worker that waits for an answer which does not come is one less.
      workersOfOne: Math.max(1, Math.floor((workers * 3) / 4)),
      tenantOf: (key) => keyFromText(key).namespace,
      retry,
      ...quiet,
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
  (cache: Cache): Watching['podsOf'] =>
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
 * The container behind it is a stranger: it is asked nothing, for a token of ours comes along. So are pods of the
 * Deployment that are from before a runtime stood in front.
 */
const isInFront = (owner: KubeObject, { metadata }: KubeObject): boolean =>
  metadata.labels?.['app.kubernetes.io/component'] !== `${owner.kind.toLowerCase()}-backend`;
