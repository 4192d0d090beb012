import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildCatalog, conflictRule, type SourceBackend } from '../../../runtime/catalog/index.ts';
import { covers } from '../../requirements.ts';

const backend = (name: string, tools: readonly string[], isListed = true): SourceBackend => ({
  name,
  isListed,
  tools: tools.map((tool) => {
    const bytes = Buffer.from(`{"name":${JSON.stringify(tool)}}`);
    return { name: tool, bytes, nameSpan: { start: 8, end: bytes.length - 1 } };
  }),
});

const rule = (prefixFormat = '{workload}_') => conflictRule({ conflictResolution: 'prefix', prefixFormat });

interface Page {
  readonly tools: { readonly name: string }[];
  readonly nextCursor?: string;
}

const page = (catalog: ReturnType<typeof buildCatalog>, cursor?: string): Page =>
  JSON.parse(catalog.tools.page(cursor).toString()) as Page;
const names = (catalog: ReturnType<typeof buildCatalog>): string[] => page(catalog).tools.map(({ name }) => name);

describe('names under rule prefix', () => {
  covers('aggregation.conflict.prefix');
  test('begin with the workload and are listed in order, whatever the order of the backends', () => {
    const backends = [backend('b', ['t', 'a']), backend('a', ['t'])];
    assert.deepEqual(names(buildCatalog(backends, rule())), ['a_t', 'b_a', 'b_t']);
    assert.deepEqual(names(buildCatalog(backends.toReversed(), rule())), ['a_t', 'b_a', 'b_t']);
  });

  covers('aggregation.prefix-format.placeholder-workload', 'aggregation.prefix-format.placeholder-workload-underscore');
  test('follow prefixFormat', () => {
    assert.deepEqual(names(buildCatalog([backend('a', ['t'])], rule('{workload}'))), ['at']);
    assert.deepEqual(names(buildCatalog([backend('a', ['t'])], rule('{workload}_'))), ['a_t']);
    assert.deepEqual(names(buildCatalog([backend('a', ['t'])], rule('x-{workload}-{workload}.'))), ['x-a-a.t']);
    assert.deepEqual(names(buildCatalog([backend('$&', ['t'])], rule())), ['$&_t']);
  });

  test('lead back to the backend and its own name', () => {
    const { offered } = buildCatalog([backend('a', ['we"ird'])], rule());
    const target = offered.get('a_we"ird');
    assert.equal(target?.backend, 'a');
    assert.equal(target?.ownName.toString(), '"we\\"ird"');
  });

  test('tell whose they are: of backends whose names begin alike the longest', () => {
    const { ownerOf } = rule();
    const backends = ['a', 'a_b', 'c'];
    assert.equal(ownerOf('a_x', backends), 'a');
    assert.equal(ownerOf('a_b_x', backends), 'a_b');
    assert.equal(ownerOf('x', backends), undefined);
    assert.equal(rule('x-').ownerOf('x-y', backends), undefined);
  });

  test('that collide stay with the earlier backend, and the loss is reported', () => {
    const catalog = buildCatalog([backend('ab', ['c']), backend('a', ['bc', 'x'])], rule('{workload}'));
    assert.deepEqual(names(catalog), ['abc', 'ax']);
    assert.equal(catalog.offered.get('abc')?.backend, 'a');
    assert.deepEqual(catalog.collisions, [{ name: 'abc', keptBy: 'a', lostBy: 'ab' }]);
  });

  test('that one backend gives twice are offered once', () => {
    assert.deepEqual(names(buildCatalog([backend('a', ['t', 't'])], rule())), ['a_t']);
  });

  test('keep to 64 characters by a suffix that tells them apart and never changes', () => {
    const long = 'x'.repeat(70);
    const catalog = buildCatalog([backend('a', [long, `${long}y`, 'x'.repeat(62)])], rule());
    for (const name of names(catalog)) assert.ok(name.length <= 64);
    assert.equal(new Set(names(catalog)).size, 3);
    assert.ok(names(catalog).includes(`a_${'x'.repeat(62)}`));
    assert.ok(names(catalog).includes(`a_${'x'.repeat(53)}_43afd6bc`), names(catalog).join('\n'));
  });

  test('of a backend that is down are not listed but still lead to it', () => {
    const catalog = buildCatalog([backend('a', ['t']), backend('b', ['t'], false)], rule());
    assert.deepEqual(names(catalog), ['a_t']);
    assert.equal(catalog.offered.get('b_t')?.backend, 'b');
    assert.equal(catalog.tools.size, 1);
  });
});

describe('pages', () => {
  const many = Array.from({ length: 2_500 }, (_, index) => `t${String(index).padStart(4, '0')}`);
  const catalog = buildCatalog([backend('a', many)], rule());

  test('hold 1,000 entries, and the last one has no cursor', () => {
    const first = page(catalog);
    const second = page(catalog, first.nextCursor);
    const third = page(catalog, second.nextCursor);
    assert.deepEqual([first.tools.length, second.tools.length, third.tools.length], [1_000, 1_000, 500]);
    assert.equal(third.nextCursor, undefined);
    assert.deepEqual(
      [...first.tools, ...second.tools, ...third.tools].map(({ name }) => name),
      many.map((name) => `a_${name}`),
    );
  });

  test('go on where they were although the list has changed meanwhile', () => {
    const { nextCursor } = page(catalog);
    const later = buildCatalog([backend('a', many.slice(500))], rule());
    assert.equal(page(later, nextCursor).tools[0]?.name, 'a_t1000');
  });

  test('of the same list are the same bytes', () => {
    assert.equal(catalog.tools.page(undefined), catalog.tools.page(undefined));
  });

  test('exactly full, there is no empty one after it', () => {
    assert.equal(page(buildCatalog([backend('a', many.slice(0, 1_000))], rule())).nextCursor, undefined);
    assert.deepEqual(page(buildCatalog([], rule())), { tools: [] });
  });
});
