import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as z from 'zod';

import { mark } from '../../crds/kit.ts';
import { structuralOf } from '../../crds/structural.ts';
import { durationOr, keyedList } from '../../runtime/config/index.ts';

const ofField = (schema: z.ZodType) => structuralOf(z.strictObject({ a: schema })).properties?.['a'];

test('the width of an integer is its format, not a pair of bounds', () => {
  assert.deepEqual(ofField(z.int32()), { type: 'integer', format: 'int32' });
  assert.deepEqual(ofField(z.int()), { type: 'integer', format: 'int64' });
  assert.deepEqual(ofField(z.int32().min(0).max(50)), { type: 'integer', format: 'int32', minimum: 0, maximum: 50 });
});

test('optional and defaulted fields are not required', () => {
  const schema = z.strictObject({
    a: z.string(),
    b: z.string().optional(),
    c: z.string().default('x'),
    d: durationOr('5s'),
  });
  const { required, properties } = structuralOf(schema);
  assert.deepEqual(required, ['a']);
  assert.equal(properties?.['c']?.default, 'x');
  assert.equal(properties?.['d']?.default, '5s');
});

test('an object never gets a default: it would create what the user did not write', () => {
  assert.deepEqual(ofField(z.strictObject({ b: z.boolean().default(true) }).prefault({})), {
    type: 'object',
    properties: { b: { type: 'boolean', default: true } },
  });
});

test('what may hold anything is kept as it is', () => {
  assert.deepEqual(ofField(z.unknown()), { preserveUnknownFields: true });
  assert.deepEqual(ofField(z.record(z.string(), z.unknown())), { type: 'object', preserveUnknownFields: true });
});

test('a list whose elements have a key says so', () => {
  const list = ofField(keyedList(z.strictObject({ name: z.string() }), 'name').optional());
  assert.deepEqual([list?.listType, list?.listKeys], ['map', ['name']]);
});

test('the description of a wrapper wins over that of what it wraps', () => {
  assert.equal(ofField(z.string().describe('inner').optional().describe('outer'))?.description, 'outer');
  assert.equal(ofField(z.string().describe('inner').optional())?.description, 'inner');
});

test('a schema inside itself ends at the second level', () => {
  interface Tree {
    readonly inner?: Tree | undefined;
  }
  const tree: z.ZodType<Tree> = z.strictObject({ inner: z.lazy(() => tree).optional() });
  assert.deepEqual(structuralOf(tree).properties?.['inner'], { type: 'object', preserveUnknownFields: true });
});

test('a union that a structural schema cannot say is refused, not loosened', () => {
  assert.throws(() => ofField(z.union([z.string(), z.number()])), /no unions/);
});

test('a mark for a field that is not there is refused', () => {
  const marked = mark(z.strictObject({ a: z.string() }), { below: { b: { refersTo: 'Secret' } } });
  assert.throws(() => structuralOf(marked), /no field b to mark/);
});

test('a literal is a text or a boolean; another one is a mistake in the schema, not a boolean', () => {
  assert.deepEqual(ofField(z.literal('a')), { type: 'string', enum: ['a'] });
  assert.deepEqual(ofField(z.literal(true)), { type: 'boolean', enum: [true] });
  assert.throws(() => ofField(z.literal(1)), /no literals but texts and booleans: 1/);
  assert.throws(() => ofField(z.literal(['a', 1])), /no literals/);
});
