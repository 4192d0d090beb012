import assert from 'node:assert/strict';
import { test } from 'node:test';
import { POD_TEMPLATE_KEYS, strategicMerge } from '../../../operator/strategic-merge/index.ts';

type Volume = Readonly<Record<string, unknown>>;

const MANY = 600;
const volumes = (prefix: string): readonly Volume[] =>
  Array.from({ length: MANY }, (_, index) => ({ name: `${prefix}${index}`, from: prefix }));
const original = { spec: { volumes: volumes('a') } };

const merged = (spec: object): readonly Volume[] => {
  const template = strategicMerge(original, { spec }, POD_TEMPLATE_KEYS) as { readonly spec: { volumes: Volume[] } };
  return template.spec.volumes;
};
const names = (list: readonly Volume[]): readonly unknown[] => list.map(({ name }) => name);

test('new elements come first, in their order', () => {
  assert.deepEqual(merged({ volumes: volumes('b') }), [...volumes('b'), ...volumes('a')]);
});

test('elements of the same key are merged, in the order of the patch', () => {
  const changes = volumes('a').map(({ name }) => ({ name, to: 'b' }));
  assert.deepEqual(
    merged({ volumes: changes.toReversed() }),
    volumes('a')
      .map((each) => ({ ...each, to: 'b' }))
      .toReversed(),
  );
});

test('deleted elements leave, and the others keep their order', () => {
  const odd = (_: unknown, index: number): boolean => index % 2 === 1;
  const deleted = volumes('a').filter(odd);
  assert.deepEqual(
    merged({ volumes: deleted.map(({ name }) => ({ name, $patch: 'delete' })) }),
    volumes('a').filter((each, index) => !odd(each, index)),
  );
});

test('a replaced list has the elements of the patch alone', () => {
  assert.deepEqual(merged({ volumes: [...volumes('b'), { $patch: 'replace' }] }), volumes('b'));
});

test('elements go where $setElementOrder puts them, and the others where they stood among those', () => {
  const order = [{ name: 'a500' }, { name: 'new' }, { name: 'a100' }, { name: 'not there' }];
  const list = names(merged({ volumes: [{ name: 'new' }], '$setElementOrder/volumes': order }));
  const rest = names(volumes('a')).filter((name) => name !== 'a100' && name !== 'a500');
  const before = rest.indexOf('a501');
  assert.deepEqual(list, [...rest.slice(0, before), 'a500', 'new', 'a100', ...rest.slice(before)]);
});

test('elements of one key in the patch are merged into one', () => {
  const again = volumes('b').map(({ name }) => ({ name, again: true }));
  assert.deepEqual(
    merged({ volumes: [...volumes('b'), ...again] }).slice(0, MANY),
    volumes('b').map((each) => ({ ...each, again: true })),
  );
});

test('an element without its key is merged with the first that has none', () => {
  const list = merged({ volumes: [{ one: 1 }, ...volumes('b'), { two: 2 }] });
  assert.deepEqual(
    list.filter(({ name }) => name === undefined),
    [{ one: 1, two: 2 }],
  );
});

test('plain values leave, come and are there once', () => {
  const all = Array.from({ length: MANY }, (_, index) => `f${index}`);
  const template = strategicMerge(
    { metadata: { finalizers: all } },
    { metadata: { finalizers: ['new', ...all.slice(10)], '$deleteFromPrimitiveList/finalizers': all.slice(0, 10) } },
    POD_TEMPLATE_KEYS,
  );
  assert.deepEqual(template, { metadata: { finalizers: ['new', ...all.slice(10)] } });
});
