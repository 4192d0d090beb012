import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { IndexedTools, type ToolList } from '../../../runtime/optimizer/indexed-tools.ts';
import type { ToolEntry } from '../../../runtime/optimizer/read-tools.ts';
import { ToolIndex } from '../../../runtime/optimizer/search/index.ts';
import { nextTurn } from '../../../runtime/process/index.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

/** Tools `tool0000`, `tool0001`, …, whose texts differ by generation. */
const entries = (count: number, generation: string): readonly ToolEntry[] =>
  Array.from({ length: count }, (_, index) => {
    const name = `tool${String(index).padStart(4, '0')}`;
    const bytes = Buffer.from(JSON.stringify({ name, description: `Generation ${generation}` }));
    return { name, target: { kind: 'backend', backend: 'a', ownName: Buffer.from(JSON.stringify(name)) }, bytes };
  });

const start = () => {
  const index = new ToolIndex();
  return { index, indexed: new IndexedTools(index, () => {}) };
};

/** Turns of the event loop until the work is done, of `most` at most; `each` runs in each of them. */
const turnsOf = async (work: Promise<unknown>, most = 1_000, each = (): void => {}): Promise<number> => {
  const state = { isDone: false };
  void work.finally(() => (state.isDone = true));
  let turns = 0;
  for (; turns < most && !state.isDone; turns += 1) {
    each();
    await nextTurn();
  }
  return turns;
};

test('input is read in between while the tools of a user are added', async () => {
  const { index, indexed } = start();
  const turns = await turnsOf(indexed.selectionOf({ entries: entries(1_000, 'own') }));
  assert.equal(index.size, 1_000);
  assert.ok(turns > 25, `${turns} turns`);
});

test('two searches of one user at one time add the tools once', async () => {
  const { index, indexed } = start();
  const list = { entries: entries(100, 'own') };
  const [one, other] = await Promise.all([indexed.selectionOf(list), indexed.selectionOf(list)]);
  assert.equal(one, other);
  assert.deepEqual([one.size, index.size], [100, 100]);
  await indexed.clear();
  assert.equal(index.size, 0);
});

test('input is read in between while tools are removed, shared ones and those of users', async () => {
  const { index, indexed } = start();
  indexed.share({ entries: entries(500, 'shared') });
  await indexed.settled();
  await indexed.selectionOf({ entries: entries(500, 'own') });
  assert.equal(index.size, 1_000);
  const turns = await turnsOf(indexed.clear());
  assert.equal(index.size, 0);
  assert.ok(turns > 12, `${turns} turns`);
});

test('a search does not wait for a backend that goes on changing its tools', async () => {
  const { indexed } = start();
  let generation = 0;
  const share = (): void => indexed.share({ entries: entries(200, `${(generation += 1)}`) });
  share();
  const turns = await turnsOf(indexed.settled(), 100, share);
  assert.ok(turns < 50, `${turns} turns`);
});

test('a search finds what was shared when it came, also where the index was brought to older tools then', async () => {
  const { index, indexed } = start();
  indexed.share({ entries: entries(200, 'before') });
  const list = { entries: entries(200, 'after') };
  indexed.share(list);
  await indexed.settled();
  assert.equal(index.size, 200);
  const among = await indexed.selectionOf(list);
  const options = { among, limit: 1, semanticRatio: 0, distanceThreshold: 1 };
  assert.equal(index.search({ text: 'after' }, options).length, 1);
});

test('shared tools that are withdrawn stay findable for the user who is offered them still', async () => {
  const { index, indexed } = start();
  const list = { entries: entries(100, 'shared') };
  indexed.share(list);
  await indexed.settled();
  const among = await indexed.selectionOf(list);
  indexed.share({ entries: [] });
  await indexed.settled();
  assert.deepEqual([index.size, among.size], [0, 0]);
  await indexed.selectionOf(list);
  assert.equal(among.size, 100);
});

test('without an optimizer the index has no tools, those that are being added included', async () => {
  const { index, indexed } = start();
  await indexed.selectionOf({ entries: entries(50, 'one') });
  const adding = indexed.selectionOf({ entries: entries(50, 'other') });
  await Promise.all([adding, indexed.clear()]);
  assert.equal(index.size, 0);
});

test('a list of a user is not kept in memory beyond the catalog', async () => {
  const { indexed } = start();
  const searched = async (own: boolean): Promise<WeakRef<ToolList>> => {
    const list = { entries: own ? entries(1, 'own') : [] };
    await indexed.selectionOf(list);
    return new WeakRef(list);
  };
  const lists = [await searched(true), await searched(false)];
  await nextTurn();
  if (typeof collectGarbage === 'function') collectGarbage();
  assert.deepEqual(
    lists.map((list) => list.deref()),
    [undefined, undefined],
  );
});
