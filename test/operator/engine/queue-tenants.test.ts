import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkResult } from '../../../operator/engine/queue.ts';
import { startQueue } from './queue-under-test.ts';
test('tenants have their turn one after another, however many keys of one are due', async () => {
  const gates: PromiseWithResolvers<WorkResult>[] = [];
  const { clock, queue, taken } = startQueue(
    () => {
      const gate = Promise.withResolvers<WorkResult>();
      gates.push(gate);
      return gate.promise;
    },
    { workers: 1, maxWorkersPerTenant: 1 },
  );
  ['a/1', 'a/2', 'a/3', 'a/4', 'b/1', 'b/2', 'c/1'].forEach((key) => queue.add(key));
  await clock.advance(500);
  for (let done = 0; done < 7; done += 1) {
    gates[done]?.resolve({});
    await clock.advance(0);
  }
  assert.deepEqual(
    taken.map((key) => key.split('@')[0]),
    // The first was taken before anything else was due.
    ['a/1', 'a/2', 'b/1', 'c/1', 'a/3', 'b/2', 'a/4'],
  );
});

test('one tenant never has all workers: what waits for answers that do not come holds up no other', async () => {
  const never = new Promise<WorkResult>(() => {});
  const { clock, queue, taken } = startQueue((key) => (key.startsWith('stuck') ? never : Promise.resolve({})), {
    workers: 4,
    maxWorkersPerTenant: 3,
  });
  ['stuck/1', 'stuck/2', 'stuck/3', 'stuck/4', 'stuck/5'].forEach((key) => queue.add(key));
  await clock.advance(500);
  assert.equal(taken.length, 3);
  queue.add('other/1');
  await clock.advance(500);
  assert.equal(taken.at(-1), 'other/1@1000');
});

test('a key that is new is taken up at once where no other key waits, and once more when it has been quiet', async () => {
  const hasty: boolean[] = [];
  const { clock, queue, taken } = startQueue((_key, isEarly) => {
    hasty.push(isEarly);
    return Promise.resolve({});
  });
  await clock.advance(0);
  queue.addNew('a/1');
  queue.add('a/1');
  await clock.advance(500);
  assert.deepEqual(
    [taken, hasty],
    [
      ['a/1@0', 'a/1@500'],
      [true, false],
    ],
  );
});

test('a key that is new waits like any other while there are others', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, taken } = startQueue(() => gate.promise, { workers: 1, maxWorkersPerTenant: 1 });
  queue.add('a/1');
  await clock.advance(500);
  queue.addNew('b/1');
  gate.resolve({});
  await clock.advance(499);
  assert.deepEqual(taken, ['a/1@500']);
  await clock.advance(1);
  assert.deepEqual(taken, ['a/1@500', 'b/1@1000']);
});
