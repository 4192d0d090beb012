import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildCatalog } from '../../../runtime/catalog/index.ts';
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

  test('keep their names: filters come after conflicts', () => {
    const catalog = built({ conflictResolution: 'manual', tools: { a: { filter: ['v'] } } });
    assert.deepEqual(names(catalog), ['v']);
    assert.deepEqual(
      catalog.unresolved.map(({ name }) => name),
      ['t', 'u'],
    );
  });
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

  test('the first form that matches any tool decides for that entry', () => {
    // `a_t` is what tool t is called here, and the own name of another tool.
    const catalog = buildCatalog([backend('a', ['t', 'a_t'])], settings({ tools: { a: { filter: ['a_t'] } } }));
    assert.deepEqual(names(catalog), ['a_t']);
  });

  test('an entry that matches nothing is told, and so is an override of no tool', () => {
    const tools = { a: { filter: ['t', 'gone'], overrides: { misspelt: { name: 'x' } } } };
    assert.deepEqual(built({ tools }).unmatched, [
      { workload: 'a', setting: 'overrides', tool: 'misspelt' },
      { workload: 'a', setting: 'filter', tool: 'gone' },
    ]);
  });

  test('of a backend that is down nobody knows what it has, so nothing is told', () => {
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
