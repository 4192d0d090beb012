import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from '../../../operator/admission/keyed-mutex.ts';
import { settled } from '../engine/manual-clock.ts';

test('work of one namespace is done one after another, beside that of others, and an aborted one lets no other pass', async () => {
  const turns = new KeyedMutex();
  const begun: string[] = [];
  const gone = new AbortController();
  const run = (namespace: string, name: string, signal = new AbortController().signal) => {
    const work = Promise.withResolvers<string>();
    const done = turns.run(namespace, signal, () => {
      begun.push(name);
      return work.promise;
    });
    return { done, end: () => work.resolve(name) };
  };
  const first = run('team-a', 'first');
  const second = run('team-a', 'second', gone.signal);
  const third = run('team-a', 'third');
  const other = run('team-b', 'other');
  await settled();
  assert.deepEqual(begun, ['first', 'other']);
  gone.abort(new Error('gone'));
  await assert.rejects(second.done, /gone/);
  await settled();
  assert.deepEqual(begun, ['first', 'other']);
  first.end();
  assert.equal(await first.done, 'first');
  await settled();
  assert.deepEqual(begun, ['first', 'other', 'third']);
  third.end();
  other.end();
  await Promise.all([third.done, other.done]);
});

test('work that fails does not hold up what comes after it', async () => {
  const turns = new KeyedMutex();
  const { signal } = new AbortController();
  const failed = turns.run('team-a', signal, () => Promise.reject(new Error('no')));
  const next = turns.run('team-a', signal, () => Promise.resolve('next'));
  await assert.rejects(failed, /no/);
  assert.equal(await next, 'next');
});
