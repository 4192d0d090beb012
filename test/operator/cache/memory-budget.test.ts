import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isOutline } from '../../../operator/cache/held-metadata.ts';
import { MemoryBudget } from '../../../operator/cache/memory-budget.ts';
import { Store } from '../../../operator/cache/store.ts';
import { cacheable } from '../../../operator/cache/trim.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import { unreadable, violationText, violationsOf } from '../../../operator/validate/index.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

const entry = (name: string, size: number, namespace = 'a', resourceVersion = '1'): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'MCPServerEntry',
  metadata: { name, namespace, uid: name, labels: { a: 'b' }, generation: 2, resourceVersion },
  spec: { groupRef: { name: 'tools' }, remoteUrl: 'x'.repeat(size) },
  status: { phase: 'Ready' },
});

const whyOf = (object: KubeObject): string => {
  const why = unreadable(object);
  return why === undefined ? '' : violationText(why);
};

test('a spec that cannot be processed is not held: its object stays a member of its group, and says why wherever it is judged', () => {
  const held = cacheable(entry('one', 257 * KIB));
  assert.deepEqual(held['spec'], { groupRef: { name: 'tools' } });
  assert.deepEqual(held['status'], { phase: 'Ready' });
  const { labels: _, ...metadata } = entry('one', 0).metadata;
  assert.deepEqual(held.metadata, metadata);
  assert.match(whyOf(structuredClone(held)), /^spec: is larger than 256 KiB; make it smaller, or split it/);
  assert.deepEqual(violationsOf(held, () => undefined).map(violationText), [whyOf(held)]);
});

test('a Deployment that is larger than any of ours is held as an outline', () => {
  const deployment = (count: number): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: 'a' },
    spec: { template: { spec: { volumes: Array.from({ length: count }, (_, index) => ({ name: `v${index}` })) } } },
  });
  assert.deepEqual(cacheable(deployment(2_000)), deployment(2_000));
  assert.ok(isOutline(cacheable(deployment(60_000))));
});

describe('the objects of one namespace', () => {
  const filled = () => {
    const budget = new MemoryBudget(4 * MIB);
    const hold = (index: number, size = 200 * KIB, namespace = 'a') =>
      whyOf(budget.admit(entry(`e${index}`, size, namespace)));
    const fits = Array.from({ length: 30 }, (_, index) => hold(index)).filter((why) => why === '').length;
    return { budget, hold, fits };
  };

  test('take so much memory together, and those of another one their own', () => {
    const { hold, fits } = filled();
    assert.equal(fits, 20);
    assert.match(hold(20), /^spec: is not read: all that is watched in this namespace takes more than 96 MiB/);
    assert.equal(hold(20, 200 * KIB, 'b'), '');
  });

  test('count however small they are', () => {
    const budget = new MemoryBudget(4 * MIB);
    const left = Array.from({ length: 2_000 }, (_, index) => whyOf(budget.admit(entry(`e${index}`, 10 * KIB))));
    const first = left.findIndex((why) => why !== '');
    assert.ok(first > 300 && first < 400, `${first}`);
  });

  test('stay held in whatever order they come again, as long as they do not grow', () => {
    const { budget, hold } = filled();
    for (let index = 29; index >= 0; index -= 1) assert.equal(hold(index) === '', index < 20, `${index}`);
    assert.equal(hold(5, 100 * KIB), '');
    assert.notEqual(hold(5, 300 * KIB), '');
    assert.ok(budget.bytesIn('a') < 5 * MIB);
  });

  test('come back when others have gone or have become small', () => {
    const { budget, hold } = filled();
    budget.account(keyOf(entry('e3', 0)), undefined);
    assert.equal(hold(25), '');
    assert.notEqual(hold(26), '');
    budget.account(keyOf(entry('e4', 0)), entry('e4', 1));
    assert.equal(hold(26), '');
  });

  test('are held as outlines where they are not ours, which are counted too', () => {
    const { budget } = filled();
    const before = budget.bytesIn('a');
    const pod: KubeObject = { ...entry('p', 200 * KIB), apiVersion: 'v1', kind: 'Pod' };
    const held = budget.admit(pod);
    assert.ok(isOutline(held));
    assert.ok(budget.bytesIn('a') > before);
    assert.equal(budget.admit({ ...pod, metadata: { ...pod.metadata, namespace: 'b' } })['spec'], pod['spec']);
  });
});

describe('a store tells the budget what it holds in the end', () => {
  const counted = () => {
    const budget = new MemoryBudget(4 * MIB);
    const store = new Store(() => {}, { kind: 'MCPServerEntry', budget });
    return { budget, store, held: (object: KubeObject) => budget.admit(object) };
  };

  test('nothing is left of what is deleted, nor of a late answer about it', () => {
    const { budget, store, held } = counted();
    store.put(held(entry('one', KIB, 'a', '5')));
    assert.ok(budget.bytesIn('a') > KIB);
    store.remove(entry('one', KIB, 'a', '6'));
    assert.equal(budget.bytesIn('a'), 0);
    store.observedUpTo('', '6');
    store.putWriteResult(held(entry('one', KIB, 'a', '4')));
    assert.equal(budget.bytesIn('a'), 0);
  });

  test('nothing is left of a list that was given up, nor of what a new list does not name', () => {
    const { budget, store, held } = counted();
    store.replace([held(entry('one', KIB, 'a', '1')), held(entry('two', KIB, 'b', '2'))], '', '2');
    held(entry('lost', KIB, 'a', '3'));
    held(entry('lost', KIB, 'c', '3'));
    const alone = budget.bytesIn('b');
    store.replace([held(entry('one', KIB, 'a', '1'))], '', '4');
    assert.equal(budget.bytesIn('a'), alone);
    assert.equal(budget.bytesIn('b') + budget.bytesIn('c'), 0);
  });

  test('an event that is older than what is held changes nothing', () => {
    const { budget, store, held } = counted();
    store.put(held(entry('one', KIB, 'a', '5')));
    const before = budget.bytesIn('a');
    store.put(held(entry('one', 100 * KIB, 'a', '4')));
    assert.equal(budget.bytesIn('a'), before);
  });

  test('what becomes smaller gives its room back', () => {
    const { budget, store, held } = counted();
    store.put(held(entry('one', 100 * KIB, 'a', '5')));
    store.put(held(entry('one', KIB, 'a', '6')));
    assert.ok(budget.bytesIn('a') < 3 * KIB);
  });
});

test('thousands of entries and hundreds of servers with all their children fit into one namespace', () => {
  const budget = new MemoryBudget();
  const namespace = 'team';
  const text = (size: number) => ({ text: 'x'.repeat(size) });
  // As many keys and values as there are in a Deployment of the operator with its managed fields.
  const container = {
    name: 'vmcp',
    image: 'registry/vmcp:1',
    env: Array.from({ length: 60 }, (_, index) => ({ name: `E${index}`, value: `value ${index}` })),
  };
  const fields = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f:field${index}`, { '.': {} }]));
  const ours = { manager: 'vmcp-operator', operation: 'Apply', fieldsV1: fields } as const;
  const child = (kind: string, name: string, content: object): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace, managedFields: [ours] },
    ...content,
  });
  const objects = [
    ...Array.from({ length: 2_000 }, (_, index) => entry(`e${index}`, KIB, namespace)),
    ...Array.from({ length: 300 }, (_, index) => [
      { ...entry(`v${index}`, 10 * KIB, namespace), kind: 'VirtualMCPServer' },
      child('Deployment', `d${index}`, {
        spec: { template: { spec: { containers: [container] } } },
        status: text(KIB),
      }),
      ...['r', 's'].map((name) => child('ReplicaSet', `${name}${index}`, { spec: {}, status: text(KIB) })),
      ...['p', 'q'].map((name) => child('Pod', `${name}${index}`, { spec: {}, status: text(4 * KIB) })),
      child('Service', `s${index}`, { spec: text(KIB) }),
      child('ServiceAccount', `a${index}`, {}),
      child('ConfigMap', `c${index}`, { data: text(index < 20 ? 1000 * KIB : 40 * KIB) }),
    ]).flat(),
  ];
  const held = objects.map((object) => budget.admit(cacheable(object)));
  const left = held.filter((object) => isOutline(object) || unreadable(object) !== undefined);
  assert.deepEqual(left.map(keyOf), []);
});
