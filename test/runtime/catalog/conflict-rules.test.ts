import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildCatalog } from '../../../runtime/catalog/catalog.ts';
import { covers } from '../../requirements.ts';
import { atBackend, backend, names, settings, source } from './sources.ts';

const owner = (catalog: ReturnType<typeof buildCatalog>, name: string, table: 'tool' | 'prompt' = 'tool') =>
  atBackend(catalog.offered.find(table, name))?.backend;

describe('under priority', () => {
  const backends = [backend('a', ['search', 'x']), backend('b', ['search', 'y']), backend('c', ['search', 'y'])];
  const by = (priorityOrder: readonly string[], more = {}) =>
    buildCatalog(backends, settings({ conflictResolution: 'priority', priorityOrder, ...more }));

  covers(
    'aggregation.conflict.priority.first-wins',
    'aggregation.conflict.priority.losers-dropped',
    'aggregation.priority-order.order',
  );
  test('a contested name belongs to the first of the order that has it, and is listed once', () => {
    const catalog = by(['c', 'b', 'a']);
    assert.deepEqual(names(catalog), ['search', 'x', 'y']);
    assert.deepEqual([owner(catalog, 'search'), owner(catalog, 'y')], ['c', 'c']);
    const turned = by(['a', 'b', 'c']);
    assert.deepEqual(names(turned), ['search', 'x', 'y']);
    assert.deepEqual([owner(turned, 'search'), owner(turned, 'y')], ['a', 'b']);
    assert.deepEqual(turned.collisions, [], 'what the order says is nobody’s loss');
  });

  test('who is not in the order loses against who is', () => {
    const catalog = by(['b']);
    assert.deepEqual([owner(catalog, 'search'), owner(catalog, 'y')], ['b', 'b']);
  });

  test('where no contender is in the order, each takes the default prefix', () => {
    assert.deepEqual(names(by(['a'])), ['b_y', 'c_y', 'search', 'x']);
    assert.deepEqual(names(by([])), ['a_search', 'b_search', 'b_y', 'c_search', 'c_y', 'x']);
    assert.equal(owner(by([]), 'search'), undefined);
  });

  covers('aggregation.prefix-format.only-for-prefix');
  test('prefixFormat says nothing, as under manual', () => {
    assert.deepEqual(names(by([], { prefixFormat: 'p-' })), ['a_search', 'b_search', 'b_y', 'c_search', 'c_y', 'x']);
    const manual = settings({ conflictResolution: 'manual', prefixFormat: 'p-' });
    assert.deepEqual(names(buildCatalog([backend('a', ['x'])], manual)), ['x']);
  });

  test('a name made by the default prefix gives way to an earlier backend’s own', () => {
    const catalog = buildCatalog(
      [backend('a', ['b_t']), backend('b', ['t']), backend('c', ['t'])],
      settings({ conflictResolution: 'priority' }),
    );
    assert.deepEqual(names(catalog), ['b_t', 'c_t']);
    assert.deepEqual(catalog.collisions, [{ kind: 'tools', name: 'b_t', keptBy: 'a', lostBy: 'b' }]);
  });

  test('a backend that is down keeps the names it has won', () => {
    const catalog = buildCatalog(
      [backend('a', ['t'], false), backend('b', ['t'])],
      settings({ conflictResolution: 'priority', priorityOrder: ['a', 'b'] }),
    );
    assert.deepEqual(names(catalog), []);
    assert.equal(owner(catalog, 't'), 'a');
  });

  test('prompts follow the same order', () => {
    const catalog = buildCatalog(
      [source('a', { prompts: ['p'] }), source('b', { prompts: ['p', 'q'] })],
      settings({ conflictResolution: 'priority', priorityOrder: ['b'] }),
    );
    assert.deepEqual(names(catalog, 'prompts'), ['p', 'q']);
    assert.equal(owner(catalog, 'p', 'prompt'), 'b');
  });

  covers('aggregation.override.before-conflict-resolution');
  test('a rename comes before: it takes a tool out of a conflict, and takes the prefix under prefix', () => {
    const tools = { a: { overrides: { search: { name: 'find' } } } };
    const catalog = by(['b', 'a'], { tools });
    assert.deepEqual(names(catalog), ['find', 'search', 'x', 'y']);
    assert.equal(owner(catalog, 'find'), 'a');
    assert.deepEqual(names(buildCatalog([backend('a', ['search'])], settings({ tools }))), ['a_find']);
  });
});

describe('under manual', () => {
  const backends = [backend('a', ['search', 'x']), backend('b', ['search', 'y']), backend('c', ['search'])];
  const by = (overrides: Readonly<Record<string, Readonly<Record<string, object>>>>) =>
    buildCatalog(
      backends,
      settings({
        conflictResolution: 'manual',
        tools: Object.fromEntries(Object.entries(overrides).map(([name, each]) => [name, { overrides: each }])),
      }),
    );

  covers('aggregation.conflict.manual.overrides-resolve');
  test('overrides settle conflicts, and no prefix is added', () => {
    const catalog = by({ a: { search: { name: 'find' } }, b: { search: { name: 'look' } } });
    assert.deepEqual(names(catalog), ['find', 'look', 'search', 'x', 'y']);
    assert.deepEqual(
      ['find', 'look', 'search'].map((name) => owner(catalog, name)),
      ['a', 'b', 'c'],
    );
    assert.deepEqual(catalog.unresolved, []);
  });

  covers('aggregation.conflict.manual.all-must-be-covered');
  test('a conflict left over: no tool has the name, it is reported, and everything else is served', () => {
    const catalog = by({ a: { search: { name: 'find' } } });
    assert.deepEqual(names(catalog), ['find', 'x', 'y']);
    assert.equal(owner(catalog, 'search'), undefined);
    assert.equal(catalog.routable.find('tool', 'search'), undefined);
    assert.deepEqual(catalog.unresolved, [{ name: 'search', backends: ['b', 'c'] }]);
  });

  test('an override can make a conflict, too', () => {
    const catalog = by({ a: { x: { name: 'y' }, search: { name: 'z' } }, b: { search: { name: 'w' } } });
    assert.deepEqual(catalog.unresolved, [{ name: 'y', backends: ['a', 'b'] }]);
    assert.deepEqual(names(catalog), ['search', 'w', 'z']);
  });

  test('a conflict inside one backend concerns no other backend: one is kept, the loss is reported', () => {
    const catalog = by({ a: { search: { name: 'x' } }, b: { search: { name: 'b' } } });
    assert.deepEqual(names(catalog), ['b', 'search', 'x', 'y']);
    assert.deepEqual(catalog.collisions, [{ kind: 'tools', name: 'x', keptBy: 'a', lostBy: 'a' }]);
  });

  test('contested prompts take the default prefix, since no override could rename them', () => {
    const catalog = buildCatalog(
      [source('a', { prompts: ['p'] }), source('b', { prompts: ['p', 'q'] })],
      settings({ conflictResolution: 'manual' }),
    );
    assert.deepEqual(names(catalog, 'prompts'), ['a_p', 'b_p', 'q']);
  });
});
