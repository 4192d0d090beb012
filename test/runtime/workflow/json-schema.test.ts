import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaCompiler } from '../../../runtime/workflow/json-schema.ts';

const listOf = (more: object): Readonly<Record<string, unknown>> => ({
  type: 'object',
  properties: { list: { type: 'array', ...more } },
});

/** Each level is looked at twice. */
const doubling = (levels: number): Readonly<Record<string, unknown>> => {
  const $defs: Record<string, object> = { d0: { minProperties: 0 } };
  for (let level = 1; level <= levels; level += 1) {
    const below = { $ref: `#/$defs/d${level - 1}` };
    $defs[`d${level}`] = { allOf: [below, below] };
  }
  return { type: 'object', $ref: `#/$defs/d${levels}`, $defs };
};

const endless: readonly (readonly [
  name: string,
  schema: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
])[] = [
  [
    'a regular expression that backtracks',
    { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } },
    { text: `${'a'.repeat(60)}!` },
  ],
  [
    'a name that a regular expression backtracks over',
    { type: 'object', patternProperties: { '^(a+)+$': { type: 'string' } } },
    { [`${'a'.repeat(60)}!`]: 1 },
  ],
  [
    'many objects that are compared with each other',
    listOf({ uniqueItems: true }),
    { list: Array.from({ length: 60_000 }, (_, n) => ({ n })) },
  ],
  ['references that double', doubling(40), {}],
];

for (const [name, schema, value] of endless)
  test(`${name}: the check is given up, and the value is wrong`, { timeout: 20_000 }, () => {
    const issues = schemaCompiler()(schema)(value, JSON.stringify(value).length);
    assert.deepEqual(issues, [{ path: '', message: 'cannot be checked in time' }]);
  });

test('after a check that was given up the same schema is good for other values, and fills in defaults', () => {
  const check = schemaCompiler()({
    type: 'object',
    properties: { text: { type: 'string', pattern: '^(a+)+$' }, more: { type: 'string', default: 'd' } },
  });
  check({ text: `${'a'.repeat(60)}!` }, 100);
  const value = { text: 'aa' };
  assert.deepEqual(check(value, 20), []);
  assert.deepEqual(value, { text: 'aa', more: 'd' });
  assert.deepEqual(check({ text: 'b' }, 20), [{ path: '/text', message: 'must match pattern "^(a+)+$"' }]);
});

test('of a large value with very many issues the first 20 are told, or that it takes too long', () => {
  const list = Array.from({ length: 50_000 }, () => 1);
  const issues = schemaCompiler()(listOf({ items: { type: 'string' } }))({ list }, 100_000);
  assert.ok(issues.length === 20 || issues[0]?.message === 'cannot be checked in time', JSON.stringify(issues[0]));
});
