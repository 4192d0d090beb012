import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  array,
  assert as check,
  boolean,
  constantFrom,
  dictionary,
  option,
  property,
  record,
  string,
} from 'fast-check';
import { buildCatalog } from '../../../runtime/catalog/catalog.ts';
import type { ToolOverride } from '../../../runtime/catalog/settings.ts';
import { jsonValue } from '../../fixtures/json-values.ts';
import { covers } from '../../requirements.ts';
import { backend, settings } from './sources.ts';

/** What tool `t` of backend `a` is listed as, without its list. */
const listed = (tool: string, override: object): string => {
  const tools = { a: { overrides: { t: override } } };
  const catalog = buildCatalog([backend('a', [tool])], settings({ conflictResolution: 'priority', tools }));
  return catalog.lists.tools.page(undefined).toString().slice('{"tools":['.length, -']}'.length);
};

describe('an override', () => {
  const tool =
    '{"name": "t", "x": 1.0e2, "description":"old", "annotations": {"title":"T","readOnlyHint":false, "y":[1]}, "_meta":{"a":1}, "x": 12345678901234567890}';

  covers('aggregation.override.name', 'aggregation.override.description', 'aggregation.override.unset-fields-kept');
  for (const [fact, override, before, after] of [
    ['of nothing changes nothing', {}, '', ''],
    ['of the name changes the name alone', { name: 'n"' }, '"name": "t"', '"name": "n\\""'],
    ['of the description changes that alone', { description: 'new' }, '"description":"old"', '"description":"new"'],
    ['takes an empty description', { description: '' }, '"description":"old"', '"description":""'],
  ] as const) {
    test(fact, () => assert.equal(listed(tool, override), tool.replace(before, after)));
  }

  covers('aggregation.override.annotations', 'aggregation.override.annotations-partial');
  test('replaces the fields of annotations that it gives, adds those that are missing, and keeps the others', () => {
    const annotations = { readOnlyHint: true, openWorldHint: false };
    assert.equal(
      listed(tool, { annotations }),
      tool.replace('"readOnlyHint":false, "y":[1]', '"readOnlyHint":true, "y":[1],"openWorldHint":false'),
    );
  });

  for (const [fact, given, override, expected] of [
    [
      'brings what the tool lacks',
      '{"name":"t"}',
      { description: 'd', annotations: { title: 'T' } },
      '{"name":"t","description":"d","annotations":{"title":"T"}}',
    ],
    [
      'fills annotations that are empty',
      '{"name":"t","annotations":{ }}',
      { annotations: { title: 'T', idempotentHint: true } },
      '{"name":"t","annotations":{"title":"T","idempotentHint":true }}',
    ],
    [
      'replaces annotations that are no object',
      '{"name":"t","annotations":null}',
      { annotations: { title: 'T' } },
      '{"name":"t","annotations":{"title":"T"}}',
    ],
    [
      'of no field leaves them alone',
      '{"name":"t","annotations":null}',
      { annotations: {} },
      '{"name":"t","annotations":null}',
    ],
    [
      'changes both of two equal members, since readers differ in which one they take',
      '{"description":"a","name":"t","description":"b"}',
      { description: 'c' },
      '{"description":"c","name":"t","description":"c"}',
    ],
    [
      'leaves members of the same name further in alone',
      '{"name":"t","inputSchema":{"description":"a","name":"t","annotations":{}}}',
      { name: 'n', description: 'c' },
      '{"name":"n","inputSchema":{"description":"a","name":"t","annotations":{}},"description":"c"}',
    ],
  ] as const) {
    test(fact, () => assert.equal(listed(given, override), expected));
  }

  const text = string({ unit: 'grapheme', maxLength: 10 });
  const hint = option(boolean(), { nil: undefined });
  const overrides = record(
    {
      name: constantFrom('n', 'ü"\\'),
      description: text,
      annotations: record({ title: text, readOnlyHint: hint, destructiveHint: hint }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  );
  const members = dictionary(constantFrom('description', 'annotations', 'inputSchema', 'title', 'x'), jsonValue());
  const annotationsOf = (value: unknown): object =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

  test('of any tool gives what parsing it and putting the values in gives', () => {
    check(
      property(members, overrides, array(constantFrom(' ', '\n')), (given, override: ToolOverride, space) => {
        const whole: Record<string, unknown> = { name: 't', ...given };
        const expected = { ...whole };
        if (override.name !== undefined) expected['name'] = override.name;
        if (override.description !== undefined) expected['description'] = override.description;
        const fields = JSON.parse(JSON.stringify(override.annotations ?? {})) as object;
        if (Object.keys(fields).length > 0)
          expected['annotations'] = { ...annotationsOf(whole['annotations']), ...fields };
        const bytes = JSON.stringify(whole, undefined, space.join(''));
        const source = bytes.startsWith('{"') ? bytes : `{"${bytes.slice(bytes.indexOf('"') + 1)}`;
        assert.deepEqual(JSON.parse(listed(source, override)), JSON.parse(JSON.stringify(expected)));
      }),
    );
  });
});
