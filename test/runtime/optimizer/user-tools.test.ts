import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ToolIndex } from '../../../runtime/optimizer/search/index.ts';
import { type UserList, UserTools } from '../../../runtime/optimizer/user-tools.ts';

const start = (bounds: { readonly lists: number; readonly bytes: number }) => {
  const index = new ToolIndex();
  const users = new UserTools(index, bounds);
  const shared = new Set<string>();
  /** A list of tools of 100 bytes each. */
  const keep = async (hashes: readonly string[], before?: UserList): Promise<UserList> => {
    for (const hash of hashes) users.add({ hash, bytes: 100, tool: () => ({ name: hash }) });
    const list = { shared, hashes };
    await users.keep(list, before);
    return list;
  };
  return { index, users, keep };
};

test('the tools of the least recently searched list are removed when there are too many bytes', async () => {
  const { index, users, keep } = start({ lists: 10, bytes: 300 });
  const [one, two] = [await keep(['a']), await keep(['b'])];
  assert.ok(users.use(one));
  await keep(['c', 'd']);
  assert.deepEqual([users.use(one), users.use(two), index.size], [true, false, 3]);
});

test('the tools of the least recently searched list are removed when there are too many lists', async () => {
  const { index, users, keep } = start({ lists: 2, bytes: 1_000 });
  const lists = [await keep(['a']), await keep(['b']), await keep(['c'])];
  assert.deepEqual(
    lists.map((list) => users.use(list)),
    [false, true, true],
  );
  assert.equal(index.size, 2);
});

test('a tool that several lists have counts once, and goes with the last of them', async () => {
  const { index, users, keep } = start({ lists: 10, bytes: 200 });
  const lists = [await keep(['a']), await keep(['a']), await keep(['a']), await keep(['b'])];
  assert.ok(lists.every((list) => users.use(list)));
  await keep(['c']);
  assert.ok(!lists.slice(0, 3).some((list) => users.use(list)));
  assert.equal(index.size, 2);
});

test('a list alone that is larger than the bound is searched all the same', async () => {
  const { index, users, keep } = start({ lists: 10, bytes: 100 });
  const list = await keep(['a', 'b', 'c']);
  assert.deepEqual([users.use(list), index.size], [true, 3]);
});

test('a list takes the place of the one before', async () => {
  const { index, users, keep } = start({ lists: 10, bytes: 1_000 });
  const before = await keep(['a', 'b']);
  await keep(['b', 'c'], before);
  assert.deepEqual([users.use(before), index.size], [false, 2]);
});
