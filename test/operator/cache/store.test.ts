import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Store, type Change } from '../../../operator/cache/store.ts';
import type { KubeObject } from '../../../operator/object.ts';

const object = (name: string, resourceVersion: number, owner?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace: 'here',
    uid: `uid-${name}`,
    resourceVersion: String(resourceVersion),
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: 'v1', kind: 'Widget', name: owner, uid: owner }] }),
  },
});

const newStore = (): { readonly store: Store; readonly changes: string[] } => {
  const changes: string[] = [];
  const version = (one: KubeObject | undefined): string => one?.metadata.resourceVersion ?? '-';
  const store = new Store(({ before, after }: Change) => changes.push(`${version(before)}→${version(after)}`));
  return { store, changes };
};

test('an older event does not overwrite what a write answered', () => {
  const { store, changes } = newStore();
  store.put(object('a', 9));
  store.put(object('a', 10));
  store.put(object('a', 9));
  assert.equal(store.get('here', 'a')?.metadata.resourceVersion, '10');
  assert.deepEqual(changes, ['-→9', '9→10']);
});

test('a deletion removes what it was about, and not a newer object of the same name', () => {
  const { store } = newStore();
  store.put(object('a', 5));
  store.remove(object('a', 4));
  assert.notEqual(store.get('here', 'a'), undefined);
  store.remove(object('a', 6));
  assert.equal(store.get('here', 'a'), undefined);
});

test('an answer to a write does not bring back an object that was deleted meanwhile', () => {
  const { store } = newStore();
  store.put(object('a', 9));
  store.remove(object('a', 11));
  store.observedUpTo('', '11');
  store.putWriteResult(object('a', 10));
  assert.equal(store.get('here', 'a'), undefined);
  store.putWriteResult(object('a', 12));
  assert.equal(store.get('here', 'a')?.metadata.resourceVersion, '12');
});

test('an answer counts before the watch has come as far, also about an object that is new', () => {
  const { store } = newStore();
  store.replace([object('a', 5)], 'here', '5');
  store.putWriteResult(object('a', 6));
  store.putWriteResult(object('b', 7));
  assert.deepEqual(
    store.list('here').map(({ metadata }) => metadata.resourceVersion),
    ['6', '7'],
  );
});

test('a whole list removes what is gone and keeps what was written after it was made', () => {
  const { store, changes } = newStore();
  store.put(object('gone', 3));
  store.put(object('kept', 4));
  store.put(object('written-since', 12));
  changes.length = 0;
  store.replace([object('kept', 4), object('new', 8)], '', '10');
  assert.deepEqual(
    store.list('here').map(({ metadata }) => metadata.name),
    ['kept', 'new', 'written-since'],
  );
  assert.deepEqual(changes, ['3→-', '-→8']);
});

test('a list older than what the watch has reported is the truth: it was restored from a backup', () => {
  const { store } = newStore();
  store.replace([object('kept', 4), object('changed', 5), object('new', 7)], '', '9');
  store.replace([object('kept', 4), object('changed', 3)], '', '6');
  assert.deepEqual(
    store.list('here').map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
    ['changed 3', 'kept 4'],
  );
});

test('a list is in name order and does not change under the reader', () => {
  const { store } = newStore();
  ['c', 'a', 'b'].forEach((name, index) => store.put(object(name, index + 1)));
  const list = store.list('here');
  store.put(object('d', 9));
  assert.deepEqual(
    list.map(({ metadata }) => metadata.name),
    ['a', 'b', 'c'],
  );
  assert.equal(store.list('here').length, 4);
  assert.deepEqual(store.list('elsewhere'), []);
});

test('objects are found by their owner until it is taken off or they are gone', () => {
  const { store } = newStore();
  store.put(object('a', 1, 'owner'));
  store.put(object('b', 2, 'owner'));
  assert.equal(store.ownedBy('owner').length, 2);
  store.put(object('a', 3));
  store.remove(object('b', 4));
  assert.deepEqual(store.ownedBy('owner'), []);
});
