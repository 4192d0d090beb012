import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import type { ObjectList } from '../../../operator/api/client.ts';
import type { WatchEvent } from '../../../operator/api/watch.ts';
import { inform } from '../../../operator/cache/informer.ts';
import { Store } from '../../../operator/cache/store.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { manualClock, settled, type ManualClock } from '../engine/manual-clock.ts';

const object = (name: string, version: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'here', resourceVersion: String(version) },
});

const event = (type: WatchEvent['type'], name: string, version: number): WatchEvent => ({
  type,
  object: object(name, version),
});

/** What the server does when it is asked the next time: a list, the events of a watch and how it ends. */
type Step =
  | { readonly list: ObjectList | Error }
  | { readonly events: readonly WatchEvent[]; readonly failure?: Error };

interface Bench {
  readonly clock: ManualClock;
  readonly store: Store;
  /** `list`, or `watch <from version>`, in order. */
  readonly asked: string[];
  readonly failures: string[];
  readonly synced: Promise<void>;
}

const follow = (steps: readonly Step[]): Bench => {
  const clock = manualClock();
  const asked: string[] = [];
  const failures: string[] = [];
  const remaining = [...steps];
  const store = new Store(() => {});
  const { synced } = inform(
    { kind: 'ConfigMap', namespace: '' },
    store,
    {
      clock,
      random: () => 1,
      onFailure: (_, error) => failures.push((error as Error).message),
      api: {
        list: async () => {
          asked.push('list');
          const step = remaining.shift();
          if (step === undefined || !('list' in step)) throw new Error('no list was expected');
          if (step.list instanceof Error) throw step.list;
          return step.list;
        },
        async *watch(_, version) {
          asked.push(`watch ${version}`);
          const step = remaining.shift();
          if (step === undefined) await new Promise(() => {});
          if (step === undefined || !('events' in step)) throw new Error('no watch was expected');
          yield* step.events;
          if (step.failure !== undefined) throw step.failure;
        },
      },
    },
    new AbortController().signal,
  );
  return { clock, store, asked, failures, synced };
};

const list = (version: number, ...items: readonly KubeObject[]): Step => ({
  list: { items, resourceVersion: String(version) },
});

const names = (store: Store): readonly string[] => store.list('here').map(({ metadata }) => metadata.name);

test('a watch goes on from the last version seen, bookmarks included, without another list', async () => {
  const { clock, store, asked } = follow([
    list(5, object('a', 1)),
    { events: [event('ADDED', 'b', 6), event('BOOKMARK', '', 9)] },
    { events: [event('DELETED', 'a', 10)], failure: new Error('connection reset') },
  ]);
  await clock.advance(60_000);
  assert.deepEqual(asked, ['list', 'watch 5', 'watch 9', 'watch 10']);
  assert.deepEqual(names(store), ['b']);
});

test('what a watch has reported is final: no late answer to a write brings a deleted object back', async () => {
  const { clock, store } = follow([
    list(5, object('a', 5)),
    { events: [event('DELETED', 'a', 11)] },
    { events: [event('BOOKMARK', '', 14)] },
  ]);
  await clock.advance(60_000);
  store.putWriteResult(object('a', 10));
  store.putWriteResult(object('b', 14));
  assert.deepEqual(names(store), []);
});

test('only a forgotten version leads to a new list', async () => {
  const expired = new ApiError(410, { reason: 'Expired' });
  const { clock, store, asked } = follow([
    list(5, object('a', 1)),
    { events: [], failure: expired },
    list(20, object('c', 15)),
  ]);
  await clock.advance(60_000);
  assert.deepEqual(asked, ['list', 'watch 5', 'list', 'watch 20']);
  assert.deepEqual(names(store), ['c']);
});

test('a version that the server keeps on refusing leads to a new list; a connection that fails does not', async () => {
  const refused: Step = { events: [], failure: new ApiError(504, { message: 'Too large resource version: 50' }) };
  const cut: Step = { events: [], failure: new Error('connection reset') };
  const { clock, asked } = follow([list(50), cut, cut, cut, cut, refused, refused, refused, list(20)]);
  await clock.advance(300_000);
  assert.deepEqual(asked, ['list', ...Array.from({ length: 7 }, () => 'watch 50'), 'list', 'watch 20']);
});

test('no error ends it: a refused list is asked for again until it is answered', async () => {
  const forbidden = { list: new ApiError(403, { message: 'not allowed' }) };
  const { clock, store, failures, synced } = follow([forbidden, forbidden, forbidden, list(5, object('a', 1))]);
  await clock.advance(120_000);
  await synced;
  assert.deepEqual(failures, ['not allowed', 'not allowed', 'not allowed']);
  assert.deepEqual(names(store), ['a']);
});

test('a server that ends every watch at once is not asked in a tight loop', async () => {
  const { clock, asked } = follow([list(5), ...Array.from({ length: 50 }, () => ({ events: [] }))]);
  await clock.advance(5000);
  await settled();
  assert.ok(asked.length < 15, `${asked.length} requests in 5 s`);
});
