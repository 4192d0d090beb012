import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { runInBatch } from '../../../runtime/process/run-in-batch.ts';

test('what waits for the end of a turn goes on in the order it came, step by step', async () => {
  const done: string[] = [];
  const goOn = (name: string) => async (): Promise<void> => {
    done.push(`${name} 1`);
    await Promise.resolve();
    done.push(`${name} 2`);
  };
  const [a, b] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const both = [a.promise.then(goOn('a')), b.promise.then(goOn('b'))];
  runInBatch(a.resolve);
  runInBatch(b.resolve);
  await Promise.resolve();
  assert.deepEqual(done, []);
  await Promise.all(both);
  assert.deepEqual(done, ['a 1', 'b 1', 'a 2', 'b 2']);
});

test('what comes while others go on waits for the next turn', async () => {
  const done: string[] = [];
  runInBatch(() => {
    done.push('first');
    runInBatch(() => done.push('second'));
  });
  await turn();
  assert.deepEqual(done, ['first']);
  await turn();
  assert.deepEqual(done, ['first', 'second']);
});
