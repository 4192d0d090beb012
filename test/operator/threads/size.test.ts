import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateIn } from '../../../operator/offload/validate.ts';
import { yieldsToEventLoop } from '../../../operator/threads/pause.ts';
import { isForThread, isTooLarge, sizeOf } from '../../../operator/threads/size.ts';
import { TooCostlyError } from '../../../operator/threads/work-thread.ts';
import { made } from '../plan/made.ts';

const never = (): Promise<never> => Promise.reject(new Error('paused'));

const small = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'value']));

test('values and characters are counted, keys included, wherever they are', async () => {
  const value = { spec: { a: ['bc'], spec: { d: null } }, groups: new Map([['e', { f: 1 }]]) };
  const characters = ['spec', 'a', '0', 'bc', 'spec', 'd', 'groups', 'e', 'f'].join('').length;
  assert.deepEqual(await sizeOf(value, never), { values: 8, characters, hasPolicies: false });
  assert.deepEqual(await sizeOf(undefined, never), { values: 0, characters: 0, hasPolicies: false });
  const size = { values: 1, characters: 2, hasPolicies: false };
  assert.deepEqual([isForThread(size, 3), isForThread({ ...size, values: 2 }, 3)], [false, true]);
});

test('what an object holds is walked once, however often the object is looked at', async () => {
  let walks = 0;
  const spec = new Proxy(small(100), {
    ownKeys: (target) => {
      walks += 1;
      return Reflect.ownKeys(target);
    },
  });
  const look = () => sizeOf({ members: [{ kind: 'MCPServer', metadata: { name: 'a' }, spec }] }, never);
  assert.deepEqual(await look(), await look());
  assert.equal(walks, 1);
});

test('what has policies anywhere is for the thread, however small it is and however often it is looked at', async () => {
  const spec = { incomingAuth: { authzConfig: { type: 'inline' } } };
  const look = () => sizeOf({ references: [{ target: { spec } }] }, never);
  assert.ok(isForThread(await look(), 50_000));
  assert.ok(isForThread(await look(), 50_000));
  assert.ok(!isForThread(await sizeOf({ spec: { name: 'authzConfig' } }, never), 50_000));
});

test('what is large is walked in slices, and no further than it takes to know that it is too large', async () => {
  let counted = 0;
  const pause = (): Promise<void> => {
    counted += 1;
    return Promise.resolve();
  };
  const members = Array.from({ length: 10 }, () => ({ spec: small(10_000) }));
  assert.ok(!isTooLarge(await sizeOf(members, pause)));
  assert.ok(counted >= 10, `${counted} pauses`);
  counted = 0;
  const many = Array.from({ length: 100 }, () => ({ spec: small(10_000) }));
  assert.ok(isTooLarge(await sizeOf(many, pause)));
  assert.ok(counted < 50, `${counted} pauses`);
});

test('what is nested deeply is walked as well', async () => {
  let deep: unknown = 'end';
  for (let level = 0; level < 50_000; level += 1) deep = { spec: deep };
  assert.equal((await sizeOf(deep, () => Promise.resolve())).values, 50_000);
});

test('of those who pause at once one goes on in each round of the event loop', async () => {
  const pause = yieldsToEventLoop();
  let round = 0;
  const rounds: number[] = [];
  const all = Promise.all([1, 2, 3].map(() => pause().then(() => rounds.push(round))));
  const count = (): void => {
    round += 1;
    if (rounds.length < 3) setImmediate(count);
  };
  setImmediate(count);
  await all;
  assert.equal(new Set(rounds).size, 3, rounds.join());
});

test('an object that names more than can be copied to a thread is too costly to judge', async () => {
  const group = made('MCPGroup', 'g', {});
  const judge = validateIn({ run: () => Promise.reject(new Error('asked a thread')) });
  const references = Array.from({ length: 30 }, (_, index) => ({
    kind: 'VirtualMCPCompositeToolDefinition',
    name: `c${index}`,
    path: 'spec',
    target: { ...group, kind: 'VirtualMCPCompositeToolDefinition', spec: { text: 'x'.repeat(250_000) } },
  }));
  await assert.rejects(judge(group, references), TooCostlyError);
});
