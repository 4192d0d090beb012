import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Results, type StepResult } from '../../../runtime/workflow/results.ts';

const steps = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
const newResults = (): Results => new Results({ name: 'w', steps }, {});
const done = (output?: unknown): StepResult => ({ status: 'completed', output });

test('what a tool gave is passed on of the last step in order alone, whichever ends last', () => {
  const results = newResults();
  assert.equal(results.last(), undefined);
  results.set('b', done('of b'), () => 'whole of b');
  results.set('a', done('of a'), () => assert.fail('no one asks for it'));
  results.set('c', done());
  assert.deepEqual(results.last(), { status: 'completed', output: 'of b', whole: 'whole of b' });
  results.set('c', { status: 'skipped', output: 'of c' });
  assert.deepEqual(results.last(), { status: 'skipped', output: 'of c', whole: undefined });
});

test('a run that waits carries that text once, and goes on with it', () => {
  const before = newResults();
  before.set('a', done('of a'), () => 'whole of a');
  before.set('b', done('of b'), () => 'whole of b');
  const carried = JSON.parse(JSON.stringify(before.entries())) as ReturnType<Results['entries']>;
  assert.deepEqual(carried, [
    ['a', { status: 'completed', output: 'of a' }],
    ['b', { status: 'completed', output: 'of b', whole: 'whole of b' }],
  ]);
  const after = newResults();
  for (const [id, result] of carried) after.set(id, result);
  assert.equal(after.last()?.whole, 'whole of b');
});
