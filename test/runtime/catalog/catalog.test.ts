import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  array,
  assert as check,
  constant,
  constantFrom,
  dictionary,
  property,
  record,
  shuffledSubarray,
  tuple,
} from 'fast-check';
import { buildCatalog } from '../../../runtime/catalog/catalog.ts';
import { conflictRule } from '../../../runtime/catalog/conflict-rules.ts';
import { pageCaches } from '../../../runtime/catalog/pages.ts';
import { LIST_KINDS } from '../../../runtime/mcp/lists.ts';
import { covers } from '../../requirements.ts';
import { atBackend, backend, names, page, settings, source } from './sources.ts';

describe('names under rule prefix', () => {
  covers('aggregation.conflict.prefix');
  test('begin with the workload and are listed in order, whatever the order of the backends', () => {
    const backends = [backend('b', ['t', 'a']), backend('a', ['t'])];
    assert.deepEqual(names(buildCatalog(backends, settings())), ['a_t', 'b_a', 'b_t']);
    assert.deepEqual(names(buildCatalog(backends.toReversed(), settings())), ['a_t', 'b_a', 'b_t']);
  });

  covers('aggregation.prefix-format.placeholder-workload', 'aggregation.prefix-format.placeholder-workload-underscore');
  test('follow prefixFormat', () => {
    const given = (prefixFormat: string, name = 'a') =>
      names(buildCatalog([backend(name, ['t'])], settings({ prefixFormat })));
    assert.deepEqual(given('{workload}'), ['at']);
    assert.deepEqual(given('{workload}_'), ['a_t']);
    assert.deepEqual(given('x-{workload}-{workload}.'), ['x-a-a.t']);
    assert.deepEqual(given('{workload}_', '$&'), ['$&_t']);
  });

  test('lead back to the backend and its own name', () => {
    const { offered } = buildCatalog([backend('a', ['we"ird'])], settings());
    const target = atBackend(offered.find('tool', 'a_we"ird'));
    assert.equal(target?.backend, 'a');
    assert.equal(target?.ownName.toString(), '"we\\"ird"');
  });

  test('tell whose they are: of backends whose names begin alike the longest', () => {
    const { ownerOf } = conflictRule(settings().naming);
    const backends = ['a', 'a_b', 'c'];
    assert.equal(ownerOf('a_x', backends), 'a');
    assert.equal(ownerOf('a_b_x', backends), 'a_b');
    assert.equal(ownerOf('x', backends), undefined);
    assert.equal(conflictRule(settings({ prefixFormat: 'x-' }).naming).ownerOf('x-y', backends), undefined);
  });

  test('that collide stay with the earlier backend, and the loss is reported', () => {
    const catalog = buildCatalog(
      [backend('ab', ['c']), backend('a', ['bc', 'x'])],
      settings({ prefixFormat: '{workload}' }),
    );
    assert.deepEqual(names(catalog), ['abc', 'ax']);
    assert.equal(atBackend(catalog.offered.find('tool', 'abc'))?.backend, 'a');
    assert.deepEqual(catalog.collisions, [{ kind: 'tools', name: 'abc', keptBy: 'a', lostBy: 'ab' }]);
  });

  test('that one backend gives twice are offered once', () => {
    assert.deepEqual(names(buildCatalog([backend('a', ['t', 't'])], settings())), ['a_t']);
  });

  test('keep to 64 characters by a suffix that tells them apart and never changes', () => {
    const long = 'x'.repeat(70);
    const catalog = buildCatalog([backend('a', [long, `${long}y`, 'x'.repeat(62)])], settings());
    for (const name of names(catalog)) assert.ok(name.length <= 64);
    assert.equal(new Set(names(catalog)).size, 3);
    assert.ok(names(catalog).includes(`a_${'x'.repeat(62)}`));
    assert.ok(names(catalog).includes(`a_${'x'.repeat(53)}_43afd6bc`), names(catalog).join('\n'));
  });

  test('that common clients refuse are served as they are, and reported while they are listed', () => {
    const backends = [backend('a', ['x.y', 'ok', 'hidden.z']), backend('b', ['x/y'], false)];
    const catalog = buildCatalog(backends, settings({ tools: { a: { filter: ['x.y', 'ok'] } } }));
    assert.deepEqual(names(catalog), ['a_ok', 'a_x.y']);
    assert.deepEqual(catalog.unusual, [{ name: 'a_x.y', backend: 'a' }]);
  });

  test('of a backend that is down are not listed but still lead to it', () => {
    const catalog = buildCatalog([backend('a', ['t']), backend('b', ['t'], false)], settings());
    assert.deepEqual(names(catalog), ['a_t']);
    assert.equal(atBackend(catalog.offered.find('tool', 'b_t'))?.backend, 'b');
    assert.equal(catalog.lists.tools.size, 1);
  });
});

describe('prompts and resources', () => {
  const catalog = buildCatalog(
    [
      source('b', { prompts: ['p'], resources: ['file:///x', 'file:///y'], resourceTemplates: ['db://{table}'] }),
      source('a', { prompts: ['p'], resources: ['file:///x'], resourceTemplates: ['db://{table}'] }),
    ],
    settings(),
  );

  test('prompts are named like tools under prefix', () => {
    assert.deepEqual(names(catalog, 'prompts'), ['a_p', 'b_p']);
    assert.equal(atBackend(catalog.offered.find('prompt', 'b_p'))?.ownName.toString(), '"p"');
    assert.equal(catalog.offered.find('tool', 'b_p'), undefined);
  });

  test('resources are never renamed: the first backend in name order owns a URI, the loss is reported', () => {
    assert.deepEqual(names(catalog, 'resources'), ['file:///x', 'file:///y']);
    assert.deepEqual(names(catalog, 'resourceTemplates'), ['db://{table}']);
    assert.equal(atBackend(catalog.offered.find('resource', 'file:///x'))?.backend, 'a');
    assert.equal(atBackend(catalog.offered.find('resource', 'file:///y'))?.backend, 'b');
    assert.deepEqual(catalog.collisions, [
      { kind: 'resources', name: 'file:///x', keptBy: 'a', lostBy: 'b' },
      { kind: 'resourceTemplates', name: 'db://{table}', keptBy: 'a', lostBy: 'b' },
    ]);
  });
});

describe('a catalogue', () => {
  const workload = record({
    tools: array(constantFrom('t', 'u', 'a_t', 'v'), { maxLength: 5 }),
    prompts: array(constantFrom('t', 'u'), { maxLength: 3 }),
    resources: array(constantFrom('x:1', 'x:2'), { maxLength: 3 }),
    resourceTemplates: array(constantFrom('x:{a}', 'y:{a}'), { maxLength: 3 }),
  });
  const shuffled = dictionary(constantFrom('a', 'ab', 'a_b', 'b', 'c'), workload).chain((given) =>
    tuple(constant(given), shuffledSubarray(Object.keys(given), { minLength: Object.keys(given).length })),
  );

  for (const conflictResolution of ['prefix', 'priority', 'manual'] as const) {
    test(`under ${conflictResolution} is the same for any order of the backends and of what they list`, () => {
      const by = settings({ conflictResolution, priorityOrder: ['c', 'b'], tools: { a: { filter: ['t', 'a_u'] } } });
      check(
        property(shuffled, ([given, order]) => {
          const of = (backends: readonly string[], turn: (list: readonly string[]) => readonly string[]) => {
            const catalog = buildCatalog(
              backends.map((name) => {
                const { tools = [], prompts = [], resources = [], resourceTemplates = [] } = given[name] ?? {};
                return source(name, {
                  tools: turn(tools),
                  prompts: turn(prompts),
                  resources: turn(resources),
                  resourceTemplates: turn(resourceTemplates),
                });
              }),
              by,
            );
            const { collisions, unresolved, unmatched } = catalog;
            const texts = LIST_KINDS.map((kind) => catalog.lists[kind].page(undefined).toString());
            return {
              texts,
              collisions,
              unresolved,
              unmatched,
            };
          };
          const straight = of(Object.keys(given), (list) => list);
          const turned = of(order, (list) => list.toReversed());
          assert.deepEqual(turned, straight);
        }),
      );
    });
  }
});

describe('pages', () => {
  const many = Array.from({ length: 2_500 }, (_, index) => `t${String(index).padStart(4, '0')}`);
  const catalog = buildCatalog([backend('a', many)], settings());

  test('hold 1,000 entries, and the last one has no cursor', () => {
    const first = page(catalog);
    const second = page(catalog, 'tools', first.nextCursor);
    const third = page(catalog, 'tools', second.nextCursor);
    assert.deepEqual([first.entries.length, second.entries.length, third.entries.length], [1_000, 1_000, 500]);
    assert.equal(third.nextCursor, undefined);
    assert.deepEqual(
      [...first.entries, ...second.entries, ...third.entries].map(({ name }) => name),
      many.map((name) => `a_${name}`),
    );
  });

  test('go on where they were although the list has changed meanwhile', () => {
    const { nextCursor } = page(catalog);
    const later = buildCatalog([backend('a', many.slice(500))], settings());
    assert.equal(page(later, 'tools', nextCursor).entries[0]?.['name'], 'a_t1000');
  });

  test('of the same list are the same bytes', () => {
    assert.equal(catalog.lists.tools.page(undefined), catalog.lists.tools.page(undefined));
  });

  test('of many lists are kept as far as the bytes of all allow', () => {
    const [first, second] = Array.from({ length: 2 }, pageCaches({ count: 10, bytes: 10 }));
    first?.set(0, Buffer.alloc(6));
    second?.set(0, Buffer.alloc(6));
    assert.deepEqual([first?.get(0), second?.get(0)?.length], [undefined, 6]);
  });

  test('exactly full, there is no empty one after it', () => {
    assert.equal(page(buildCatalog([backend('a', many.slice(0, 1_000))], settings())).nextCursor, undefined);
    assert.deepEqual(page(buildCatalog([], settings())).entries, []);
  });
});
