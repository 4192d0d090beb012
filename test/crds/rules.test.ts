import assert from 'node:assert/strict';
import { test } from 'node:test';

import { objectSchema } from '../../crds/crd.ts';
import { withDefaults } from '../../crds/defaults.ts';
import { kinds } from '../../crds/index.ts';
import type { SchemaNode } from '../../crds/structural.ts';
import { manifestOf } from './case.ts';
import { allCases } from './cases/index.ts';

interface Verdict {
  readonly rule: string;
  readonly holds: boolean;
}

const schemas = new Map(Object.values(kinds).map((definition) => [definition.kind, objectSchema(definition)]));

/** The children of a schema by the step that leads there. */
const childrenOf = ({
  properties = {},
  items,
  additionalProperties,
}: SchemaNode): readonly (readonly [string, SchemaNode])[] => [
  ...Object.entries(properties).map(([name, child]) => [`.${name}`, child] as const),
  ...(items === undefined ? [] : [['[]', items] as const]),
  ...(additionalProperties === undefined ? [] : [['.*', additionalProperties] as const]),
];

const rulesIn = (node: SchemaNode, path: string): readonly string[] => [
  ...(node.rules ?? []).map(({ message }) => `${path}: ${message}`),
  ...childrenOf(node).flatMap(([step, child]) => rulesIn(child, `${path}${step}`)),
];

const verdictsIn = (node: SchemaNode, value: unknown, path: string): readonly Verdict[] => {
  if (value === undefined) return [];
  const own = (node.rules ?? []).flatMap((rule) => verdictOf(rule, value, path));
  if (Array.isArray(value))
    return [...own, ...value.flatMap((item) => verdictsIn(node.items ?? {}, item, `${path}[]`))];
  if (typeof value !== 'object' || value === null) return own;
  const fields = Object.entries(value).flatMap(([key, field]) => {
    const child = node.properties?.[key];
    return child === undefined
      ? verdictsIn(node.additionalProperties ?? {}, field, `${path}.*`)
      : verdictsIn(child, field, `${path}.${key}`);
  });
  return [...own, ...fields];
};

const verdictOf = (
  rule: NonNullable<SchemaNode['rules']>[number],
  value: unknown,
  path: string,
): readonly Verdict[] => {
  try {
    return [{ rule: `${path}: ${rule.message}`, holds: rule.holds(value) }];
  } catch {
    return []; // another field of the value has the wrong type
  }
};

const all = [...schemas].flatMap(([kind, schema]) => rulesIn(schema, kind));

const verdicts = allCases.flatMap((each) => {
  const schema = schemas.get(each.kind) ?? {};
  const found = verdictsIn(schema, withDefaults(schema, manifestOf(each)), each.kind);
  return found.map((verdict) => ({ ...verdict, isAccepted: 'stored' in each.expected }));
});

test('every rule of every kind has a case that it refuses', () => {
  const broken = new Set(verdicts.filter(({ holds }) => !holds).map(({ rule }) => rule));
  assert.deepEqual(
    all.filter((rule) => !broken.has(rule)),
    [],
  );
});

test('every rule of every kind has a case that satisfies it and is accepted', () => {
  const kept = new Set(verdicts.filter(({ holds, isAccepted }) => holds && isAccepted).map(({ rule }) => rule));
  assert.deepEqual(
    all.filter((rule) => !kept.has(rule)),
    [],
  );
});
