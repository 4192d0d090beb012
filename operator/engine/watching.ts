import { NoReport } from './ask-status.ts';
import { clusterCache } from './cache.ts';
import type { Cache } from './cache.ts';
import { affectedKeys, ownersOf, ownKeys } from './fan-out.ts';
import type { OperatorDeps, OperatorOptions } from './operator.ts';
import { ProvenSpecs } from './proven-specs.ts';
import { KeyedQueue } from './queue.ts';
import { StatusPuller } from './status-puller.ts';
import type { Change } from './store.ts';
import { isExpired } from '../api/errors.ts';
import type { Selection } from '../api/selection.ts';
import type { ReconciledKind } from '../kinds/kind.ts';
import { keyFromText, keyText } from '../object.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import { errorText } from '../observe/log.ts';
import { isRuntime } from '../plan/server/pod-template.ts';
import { clusterSource } from '../read/cluster.ts';
import { podsOfDeployment } from '../read/controlled.ts';
import type { Source } from '../read/source.ts';
import { Rewrites } from '../write/rewrites.ts';
import { TooLargeChildren } from '../write/too-large.ts';
import { StatusAges } from '../write/status-ages.ts';

/** What every replica does, leading or not: it knows the cluster, and which keys need a look. */
export interface Watching {
  readonly cache: Cache;
  readonly source: Source;
  readonly queue: KeyedQueue;
  readonly puller: StatusPuller;
  /** The runtimes, by controller, up to the resource: no other pod is asked, marked or reported. */
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly rewrites: Rewrites;
  readonly statusAges: StatusAges;
  readonly tooLarge: TooLargeChildren;
  readonly synced: Promise<void>;
  readonly ended: Promise<void>;
}

const retry = { baseMs: 1000, maxMs: 300_000 };

/** decisions: "No write without a reason" */
const quiet = { quietMs: 500, quietAtMostMs: 3000 };

export const watchCluster = (options: OperatorOptions, deps: OperatorDeps, signal: AbortSignal): Watching => {
  const { kinds, clock, random, log, observe } = deps;
  const state = { isSynced: false };
  const queue = queueOf(options, deps);
  const rewrites = new Rewrites();
  const statusAges = new StatusAges(clock.now);
  const accepted = new ProvenSpecs();
  const tooLarge = new TooLargeChildren();
  const touch = (key: ObjectKey): void => queue.touch(keyText(key));
  const onChange = (change: Change): void => {
    if (change.before !== undefined && change.before.metadata.uid !== change.after?.metadata.uid) {
      const { uid = '' } = change.before.metadata;
      [rewrites, statusAges, accepted, tooLarge].forEach((memory) => memory.forget(uid));
    }
    if (change.after !== undefined) statusAges.saw(change.after);
    podOwners(kinds, change).forEach((owner) => puller.poke(owner));
    (state.isSynced ? affectedKeys(kinds, source, change) : ownKeys(kinds, change)).forEach(touch);
  };
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
  const onSilence = ({ metadata: { namespace, name } }: KubeObject, error: unknown): void => {
    // A pod that starts or ends does not answer for a while; one that answers nonsense is worth a look.
    const level = error instanceof NoReport ? 'warn' : 'debug';
    log[level]({ namespace, pod: name, error: errorText(error) }, 'a pod does not tell its status');
  };
  const puller = new StatusPuller({ podsOf, ask: deps.ask, clock, onSilence, onChange: touch });
  const source = clusterSource({
    get: cache.get,
    list: cache.list,
    reports: (owner) => puller.reports(owner),
    lastProven: (server, proven) => accepted.last(server, proven),
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
    statusAges,
    tooLarge,
    synced: synced.then(markSynced),
    ended,
  };
};

const queueOf = ({ workers }: OperatorOptions, { clock, random, log, observe }: OperatorDeps): KeyedQueue =>
  new KeyedQueue(
    { workers, retry, ...quiet },
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
 * The container behind it is a stranger: it is asked nothing, for a token of ours comes along. So are pods of the Deployment that are from
 * before a runtime stood in front.
 */
const isInFront = (owner: KubeObject, { metadata }: KubeObject): boolean =>
  metadata.labels?.['app.kubernetes.io/component'] !== `${owner.kind.toLowerCase()}-backend`;
