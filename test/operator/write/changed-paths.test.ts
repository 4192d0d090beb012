import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedPaths } from '../../../operator/write/changed-paths.ts';

const rows: readonly (readonly [string, unknown, unknown, readonly string[]])[] = [
  ['nothing changed', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ['a value', { spec: { a: 1, b: 2 } }, { spec: { a: 1, b: 3 } }, ['spec.b']],
  ['a field comes and one goes', { a: 1 }, { b: { c: 1 } }, ['a', 'b']],
  ['another type', { a: { b: 1 } }, { a: [1] }, ['a']],
  [
    'a name with a dot',
    { metadata: { annotations: { 'x/y.z': '1' } } },
    { metadata: { annotations: {} } },
    ['metadata.annotations["x/y.z"]'],
  ],
  [
    'elements by name, in whatever order',
    {
      containers: [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
    },
    {
      containers: [
        { name: 'b', image: '2' },
        { name: 'a', image: '1' },
      ],
    },
    ['containers[b].image'],
  ],
  ['elements by type', { conditions: [{ type: 'Ready', status: 'True' }] }, { conditions: [] }, ['conditions[Ready]']],
  [
    'elements by place where names do not tell them apart',
    [{ name: 'a' }, { name: 'a', x: 1 }],
    [{ name: 'a' }, { name: 'a' }],
    ['[1].x'],
  ],
  ['plain elements', { args: ['a', 'b'] }, { args: ['a', 'c', 'd'] }, ['args[1]', 'args[2]']],
];
for (const [name, before, after, expected] of rows) {
  test(`${name}: ${expected.join(', ') || 'no path'}`, () => {
    assert.deepEqual(changedPaths(before, after), expected);
  });
}
