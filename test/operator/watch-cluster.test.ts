import { validateHere } from '../../operator/offload/validate.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../operator/api/client.ts';
import { ApiError } from '../../operator/api/errors.ts';
import type { Selection } from '../../operator/api/selection.ts';
import type { WatchEvent } from '../../operator/api/watch.ts';
import { isolatingErrors, watchCluster } from '../../operator/watch-cluster.ts';
import type { ClusterWatch } from '../../operator/watch-cluster.ts';
import type { KubeObject, ObjectMeta } from '../../operator/object.ts';
import { type ManualClock, manualClock, settled } from './engine/manual-clock.ts';
import { widgetKind } from './engine/widget.ts';
import type { OperatorDeps } from '../../operator/start-operator.ts';

const object = (kind: string, name: string, metadata: Partial<ObjectMeta> = {}, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'here', uid: `uid-${name}`, resourceVersion: '5', ...metadata },
  ...more,
});

/** As the owner references of a controller's objects are. */
const controlledBy = (kind: string, name: string, controller = true): Partial<ObjectMeta> => ({
  ownerReferences: [{ apiVersion: 'v1', kind, name, uid: `uid-${name}`, controller }],
});

const labels = {
  'app.kubernetes.io/name': 'vmcp',
  'app.kubernetes.io/instance': 'one',
  'app.kubernetes.io/managed-by': 'vmcp-operator',
  'app.kubernetes.io/component': 'widget',
};

interface Bench {
  readonly clock: ManualClock;
  readonly watching: ClusterWatch;
  readonly selections: readonly Selection[];
  /** The server tells of it. */
  readonly tell: (type: WatchEvent['type'], about: KubeObject) => Promise<void>;
  /** The watch on the kind ends with the error. */
  readonly interrupt: (kind: string, error: Error) => Promise<void>;
  readonly logged: { readonly level: string; readonly message: string }[];
}

const watch = async (...objects: readonly KubeObject[]): Promise<Bench> => {
  const selections: Selection[] = [];
  const tellers = new Map<string, PromiseWithResolvers<WatchEvent>>();
  const unused = (): never => assert.fail('nothing is written here');
  const api: ApiClient = {
    list: ({ kind }) => Promise.resolve({ items: objects.filter((each) => each.kind === kind), resourceVersion: '10' }),
    async *watch(selection) {
      selections.push(selection);
      for (;;) {
        const teller = Promise.withResolvers<WatchEvent>();
        tellers.set(selection.kind, teller);
        yield await teller.promise;
      }
    },
    get: unused,
    getMetadata: unused,
    apply: unused,
    applyNew: unused,
    applyStatus: unused,
    create: unused,
    createOwned: unused,
    replace: unused,
    mergePatch: unused,
    remove: unused,
    clusterIssuer: unused,
  };
  const logged: { level: string; message: string }[] = [];
  const at =
    (level: string) =>
    (_fields: unknown, message?: string): void =>
      void logged.push({ level, message: message ?? '' });
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const nothing = (): void => {};
  const observe = { reconciled: nothing, failed: nothing, waited: nothing, watchInterrupted: nothing, leads: nothing };
  const clock = manualClock();
  const watching = watchCluster(
    { namespaces: [], workers: 1 },
    {
      kinds: [widgetKind],
      api,
      clock,
      random: () => 1,
      fetchStatus: unused,
      validate: validateHere,
      log,
      observe,
    },
    new AbortController().signal,
  );
  await watching.synced;
  await settled();
  const tell = async (type: WatchEvent['type'], about: KubeObject): Promise<void> => {
    tellers.get(about.kind)?.resolve({ type, object: about });
    await settled();
  };
  const interrupt = async (kind: string, error: Error): Promise<void> => {
    tellers.get(kind)?.reject(error);
    await settled();
  };
  return { watching, selections, tell, interrupt, logged, clock };
};

const owner = object('Widget', 'one');
const deployment = object('Deployment', 'widget-one', { labels, ...controlledBy('Widget', 'one') });
const replicaSet = object('ReplicaSet', 'rs', { labels, ...controlledBy('Deployment', 'widget-one') });

const withConfig = { spec: { volumes: [{ name: 'vmcp-config', configMap: { name: 'widget-one-0' } }] } };

test("a server's pods are those of the ReplicaSets of its own Deployment, whatever labels others write on theirs", async () => {
  const foreignServices = [
    object('Pod', 'labelled', { labels }),
    object('Pod', 'naming-the-resource', { labels, ...controlledBy('Widget', 'one') }),
    object('Pod', 'naming-but-not-controlled', { labels, ...controlledBy('ReplicaSet', 'rs', false) }),
    object('Pod', 'elsewhere', { namespace: 'elsewhere', labels, ...controlledBy('ReplicaSet', 'rs') }),
    object('Pod', 'of-another-deployment', { labels, ...controlledBy('ReplicaSet', 'other') }),
    object('ReplicaSet', 'other', { labels }),
    object('Pod', 'from-before-a-runtime-stood-in-front', { labels, ...controlledBy('ReplicaSet', 'rs') }),
  ];
  const { watching } = await watch(
    owner,
    deployment,
    replicaSet,
    ...foreignServices,
    object('Pod', 'ours', { labels, ...controlledBy('ReplicaSet', 'rs') }, withConfig),
  );
  const pods = watching.podsOf({ kind: 'Widget', namespace: 'here', name: 'one' });
  assert.deepEqual(
    pods.map(({ metadata }) => metadata.name),
    ['ours'],
  );
});

test('what another namespace or another controller holds is not removed with what is ours', async () => {
  const { watching } = await watch(
    owner,
    object('ConfigMap', 'ours', { labels, ...controlledBy('Widget', 'one') }),
    object('ConfigMap', 'elsewhere', { namespace: 'elsewhere', labels, ...controlledBy('Widget', 'one') }),
    object('ConfigMap', 'shared', { labels, ...controlledBy('Widget', 'one', false) }),
  );
  assert.deepEqual(
    watching.cache.controlledBy('ConfigMap', owner).map(({ metadata }) => metadata.name),
    ['ours'],
  );
});

test('a version that the API server has forgotten is no warning, a watch that fails is one', async () => {
  const { interrupt, logged } = await watch();
  await interrupt('Widget', new ApiError(410, { reason: 'Expired', message: 'too old resource version: 432 (433)' }));
  await interrupt('Pod', new Error('connection reset'));
  assert.deepEqual(logged, [
    { level: 'info', message: 'watch interrupted' },
    { level: 'warn', message: 'watch interrupted' },
  ]);
});

test('of the kinds that a cluster is full of, only what carries our label is watched', async () => {
  const { selections } = await watch();
  const everything = selections.filter(({ labelSelector }) => labelSelector === undefined).map(({ kind }) => kind);
  assert.deepEqual(everything, ['Widget']);
});

test('how the server stores an object is forgotten with the object', async () => {
  const stored = object('Service', 'widget-one', { labels, ...controlledBy('Widget', 'one') }, { spec: { a: 2 } });
  const sent = { ...stored, spec: { a: 1 } };
  const { watching, tell } = await watch(owner, stored);
  watching.serverMutations.record(sent, stored);
  assert.equal(watching.serverMutations.isKnown(sent, stored), true);
  await tell('DELETED', { ...stored, metadata: { ...stored.metadata, resourceVersion: '11' } });
  assert.equal(watching.serverMutations.isKnown(sent, stored), false);
});

test('a status is as old as the news of its write, and looking at what is gone remembers nothing', async () => {
  const managedFields = [
    { manager: 'vmcp-operator', operation: 'Apply' as const, subresource: 'status', time: '2026-11-20T12:00:00Z' },
  ];
  const reported = object('Widget', 'one', { managedFields });
  const { watching, tell, clock } = await watch(reported);
  await clock.advance(5000);
  assert.equal(watching.statusWrites.ageMs(reported), 5000);
  const later = { managedFields: managedFields.map((each) => ({ ...each, time: '2026-11-20T12:00:05Z' })) };
  const written = object('Widget', 'one', { ...later, resourceVersion: '11' });
  watching.cache.put(written);
  await clock.advance(1000);
  assert.equal(watching.statusWrites.ageMs(written), 1000);
  await tell('DELETED', object('Widget', 'one', { ...later, resourceVersion: '12' }));
  for (const _look of ['first', 'second']) assert.equal(watching.statusWrites.ageMs(written), Infinity);
});

test('a change that cannot be followed ends no watch, is logged, and its object is looked at', () => {
  const logged: object[] = [];
  const looked: unknown[] = [];
  const log = { error: (fields: object) => void logged.push(fields) } as unknown as OperatorDeps['log'];
  const follow = (): never => {
    throw new TypeError('nothing to read');
  };
  const change = { after: object('Widget', 'odd') };
  isolatingErrors(follow, { log, onError: (each) => looked.push(each) })(change);
  assert.deepEqual(looked, [change]);
  assert.deepEqual(logged, [{ kind: 'Widget', namespace: 'here', name: 'odd', error: 'nothing to read' }]);
});
