import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as check, constantFrom, dictionary, property, uniqueArray } from 'fast-check';
import { buildCatalog } from '../../../runtime/catalog/catalog.ts';
import { covers } from '../../requirements.ts';
import { atBackend, backend, names, settings } from './sources.ts';

const backends = [backend('a', ['t', 'u', 'v']), backend('b', ['t', 'u'])];
const built = (input: Parameters<typeof settings>[0]) => buildCatalog(backends, settings(input));
const offered = (catalog: ReturnType<typeof built>, name: string) =>
  atBackend(catalog.offered.find('tool', name))?.backend;
const routable = (catalog: ReturnType<typeof built>, name: string) =>
  atBackend(catalog.routable.find('tool', name))?.backend;

describe('hidden tools', () => {
  covers('aggregation.exclude-all.hides', 'aggregation.tools.per-workload');
  test('excludeAll hides the tools of one workload', () => {
    assert.deepEqual(names(built({ tools: { a: { excludeAll: true } } })), ['b_t', 'b_u']);
  });

  covers('aggregation.exclude-all-tools.hides');
  test('excludeAllTools hides the tools of all', () => {
    assert.deepEqual(names(built({ excludeAllTools: true })), []);
  });

  test('are unknown to clients, and known to workflows', () => {
    for (const input of [
      { excludeAllTools: true },
      { tools: { a: { excludeAll: true } } },
      { tools: { a: { filter: ['u'] } } },
    ]) {
      const catalog = built(input);
      assert.equal(offered(catalog, 'a_t'), undefined);
      assert.equal(routable(catalog, 'a_t'), 'a');
    }
  });

  test('keep their names for workflows where an own tool has the name for clients', () => {
    const both = { name: 'a_t', target: { kind: 'workflow', workflow: 'both' }, bytes: Buffer.from('{}') } as const;
    const catalog = buildCatalog(backends, settings({ excludeAllTools: true }), { ownTools: [both] });
    assert.equal(catalog.offered.find('tool', 'a_t'), both.target);
    assert.equal(routable(catalog, 'a_t'), 'a');
  });

  test('are found by what their backends call them, whatever they are called here', () => {
    const tools = { a: { filter: ['none'], overrides: { t: { name: 'renamed' } } } };
    const { routableName } = built({ tools });
    assert.deepEqual(
      [routableName('a', 't'), routableName('b', 't'), routableName('a', 'renamed'), routableName('c', 't')],
      ['a_renamed', 'b_t', undefined, undefined],
    );
    const lost = built({ conflictResolution: 'manual' }).routableName;
    assert.deepEqual([lost('a', 't'), lost('a', 'v')], [undefined, 'v']);
  });

  for (const [conflictResolution, priorityOrder, expected] of [
    ['manual', [], ['t', 'v']],
    ['priority', ['a', 'b'], ['t', 'u', 'v']],
    ['priority', [], ['a_u', 'b_u', 't', 'v']],
  ] as const) {
    test(`never contest a name under ${conflictResolution} [${priorityOrder.join()}]`, () => {
      const catalog = built({ conflictResolution, priorityOrder, tools: { a: { filter: ['v', 'u'] } } });
      assert.deepEqual(names(catalog), expected);
      assert.equal(offered(catalog, 't'), 'b');
      const unresolved = conflictResolution === 'manual' ? [{ name: 'u', backends: ['a', 'b'] }] : [];
      assert.deepEqual([catalog.unresolved, catalog.collisions], [unresolved, []]);
      // Steps of workflows reach the visible tool under its name, and the hidden one all the same.
      assert.equal(routable(catalog, 't'), 'b');
      assert.equal(catalog.routableName('a', 't'), 'a_t');
      assert.equal(routable(catalog, 'a_t'), 'a');
    });
  }

  test('are called among themselves as the rule says, and otherwise as under the default prefix', () => {
    const hidden = { a: { excludeAll: true }, b: { excludeAll: true } };
    const of = (input: Parameters<typeof settings>[0]) => {
      const { routableName } = buildCatalog(backends, settings({ ...input, tools: hidden }));
      return [routableName('a', 't'), routableName('b', 't'), routableName('a', 'v')];
    };
    assert.deepEqual(of({ prefixFormat: '{workload}.' }), ['a.t', 'b.t', 'a.v']);
    assert.deepEqual(of({ conflictResolution: 'priority', priorityOrder: ['b'] }), ['a_t', 't', 'v']);
    assert.deepEqual(of({ conflictResolution: 'priority' }), ['a_t', 'b_t', 'v']);
    assert.deepEqual(of({ conflictResolution: 'manual' }), ['a_t', 'b_t', 'v']);
  });

  test('take no name that visible tools contend for in vain', () => {
    const three = [...backends, backend('c', ['t'])];
    const catalog = buildCatalog(three, settings({ conflictResolution: 'manual', tools: { c: { excludeAll: true } } }));
    assert.equal(routable(catalog, 't'), undefined);
    assert.equal(catalog.routableName('c', 't'), 'c_t');
  });

  for (const conflictResolution of ['prefix', 'priority', 'manual'] as const) {
    test(`change nothing of what is visible, and are routable, under ${conflictResolution}`, () => {
      const tool = constantFrom('t', 'u', 'v');
      const group = dictionary(constantFrom('a', 'b', 'c', 'd'), uniqueArray(tool), { minKeys: 1 });
      check(
        property(group, uniqueArray(constantFrom('a', 'b', 'c', 'd')), uniqueArray(tool), (given, excluded, order) => {
          const all = Object.entries(given).map(([name, tools]) => backend(name, tools));
          const by = { conflictResolution, priorityOrder: order.length > 1 ? ['d', 'b'] : [] };
          const tools = Object.fromEntries(excluded.map((name) => [name, { excludeAll: true }]));
          const catalog = buildCatalog(all, settings({ ...by, tools }));
          const alone = buildCatalog(
            all.filter(({ name }) => !excluded.some((each) => each === name)),
            settings(by),
          );
          assert.deepEqual(names(catalog), names(alone));
          assert.deepEqual([catalog.unresolved, catalog.collisions], [alone.unresolved, alone.collisions]);
          for (const name of names(alone)) {
            assert.equal(offered(catalog, name), offered(alone, name));
            assert.equal(routable(catalog, name), offered(alone, name));
          }
          for (const name of excluded) {
            for (const key of given[name] ?? []) {
              const target = atBackend(catalog.routable.find('tool', catalog.routableName(name, key) ?? ''));
              assert.deepEqual([target?.backend, target?.ownName.toString()], [name, `"${key}"`]);
            }
          }
        }),
      );
    });
  }
});

describe('filter', () => {
  covers('aggregation.filter.allow-list', 'aggregation.filter.others-hidden');
  test('keeps the tools it names; other workloads are as they were', () => {
    assert.deepEqual(names(built({ tools: { a: { filter: ['a_t', 'a_v'] } } })), ['a_t', 'a_v', 'b_t', 'b_u']);
  });

  const overrides = { t: { name: 'u' }, u: { name: 'w' } };
  for (const [fact, filter, expected] of [
    ['the advertised name', ['a_u'], ['a_u']],
    ['else the name after overrides', ['u'], ['a_u']],
    ['else the backend’s own', ['t'], ['a_u']],
    ['each for itself', ['a_w', 'u', 'v'], ['a_u', 'a_v', 'a_w']],
    ['nothing at all', [], []],
  ] as const) {
    test(`an entry matches ${fact}`, () => {
      const tools = { a: { filter, overrides }, b: { excludeAll: true } };
      assert.deepEqual(names(built({ tools })), expected);
    });
  }

  test('an entry matches the name that a conflict may give, whether there is one or not', () => {
    const by = (tools: object) =>
      built({ conflictResolution: 'priority', tools: { a: { filter: ['a_t'] }, ...tools } });
    assert.deepEqual(names(by({})), ['a_t', 'b_t', 'u']);
    assert.deepEqual(names(by({ b: { excludeAll: true } })), ['t']);
    assert.deepEqual(by({}).unmatched, []);
  });

  test('the first form that matches any tool decides for that entry', () => {
    // `a_t` is what tool t is called here, and the own name of another tool.
    const catalog = buildCatalog([backend('a', ['t', 'a_t'])], settings({ tools: { a: { filter: ['a_t'] } } }));
    assert.deepEqual(names(catalog), ['a_t']);
  });

  test('an entry that matches nothing is reported, and so is an override of no tool', () => {
    const tools = { a: { filter: ['t', 'gone'], overrides: { misspelt: { name: 'x' } } } };
    assert.deepEqual(built({ tools }).unmatched, [
      { workload: 'a', setting: 'overrides', tool: 'misspelt' },
      { workload: 'a', setting: 'filter', tool: 'gone' },
    ]);
  });

  test('of a backend that is down the tools are not known, so nothing is reported', () => {
    const catalog = buildCatalog([backend('a', [], false)], settings({ tools: { a: { filter: ['t'] } } }));
    assert.deepEqual(catalog.unmatched, []);
  });

  test('a tool that is called like a part of every object is filtered like any other', () => {
    const tools = { a: { filter: ['constructor'], overrides: { constructor: { description: 'x' } } } };
    const catalog = buildCatalog([backend('a', ['constructor', 'toString'])], settings({ tools }));
    assert.deepEqual(names(catalog), ['a_constructor']);
    assert.deepEqual(catalog.unmatched, []);
  });
});
