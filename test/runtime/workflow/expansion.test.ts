import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '../../../runtime/process/index.ts';
import { parseTemplate } from '../../../runtime/templates/index.ts';
import { expander } from '../../../runtime/workflow/expansion.ts';

const SLOW = parseTemplate('{{range 20000}}{{end}}done');

/** Each look takes 1 ms; the slow template has some 80 of them. */
const slowClock = (): (() => number) => {
  let ms = 0;
  return () => (ms += 1);
};

test('templates that a workflow expands at one go have the time of one together', async () => {
  const expand = expander({ now: slowClock() });
  assert.equal(expand(SLOW, {}), 'done');
  assert.throws(() => expand(SLOW, {}), /takes more time than it may/);
  await nextTurn();
  assert.equal(expand(SLOW, {}), 'done');
});

test('short ones are expanded when that time is over, too', () => {
  const expand = expander({ now: slowClock() });
  assert.equal(expand(SLOW, {}), 'done');
  assert.throws(() => expand(SLOW, {}), /takes more time than it may/);
  assert.equal(expand(parseTemplate('{{.a}}'), { a: 'b' }), 'b');
});
