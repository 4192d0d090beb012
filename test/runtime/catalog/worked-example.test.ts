import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { buildCatalog } from '../../../runtime/catalog/catalog.ts';
import { catalogSettingsOf } from '../../../runtime/config-slices.ts';
import { accepted } from '../config/files.ts';
import { atBackend, backend, names } from './sources.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/aggregation.md'), 'utf8');

test('the worked example of docs/aggregation.md does what it says', () => {
  const [, text = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const { config } = parse(text) as { readonly config: { readonly aggregation: object } };
  const backends = [
    backend('crm', ['search_everything_v2', 'export', 'delete_all']),
    backend('wiki', ['search', 'export']),
  ];
  const catalog = buildCatalog(backends, catalogSettingsOf(accepted(config)));
  assert.deepEqual(names(catalog), ['export', 'find', 'search']);
  const owner = (table: 'offered' | 'routable', name: string) => atBackend(catalog[table].find('tool', name))?.backend;
  assert.deepEqual([owner('offered', 'export'), owner('offered', 'find')], ['wiki', 'crm']);
  assert.deepEqual([owner('offered', 'delete_all'), owner('routable', 'delete_all')], [undefined, 'crm']);
  assert.deepEqual(catalog.unmatched, []);

  const hidden = accepted({
    aggregation: {
      ...config.aggregation,
      conflictResolutionConfig: { priorityOrder: ['crm'] },
      tools: [{ workload: 'crm', filter: ['search_everything_v2'] }],
    },
  });
  const without = buildCatalog(backends, catalogSettingsOf(hidden));
  assert.equal(atBackend(without.offered.find('tool', 'export'))?.backend, 'wiki');
  assert.equal(without.routableName('crm', 'export'), 'crm_export');

  const prefixed = accepted({ aggregation: { ...config.aggregation, conflictResolution: 'prefix' } });
  assert.deepEqual(names(buildCatalog(backends, catalogSettingsOf(prefixed))), [
    'crm_export',
    'crm_find',
    'wiki_export',
    'wiki_search',
  ]);
});
