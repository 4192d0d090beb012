import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { workflowProblems } from '../../../runtime/workflow-checks/index.ts';

/** Values that keywords may have, right and wrong ones. */
const some = fc.oneof(
  fc.constantFrom(-1, 0, 1, 2.5, true, false, null, '', 'x', '(', '^a+$', 'string', 'object', 'null'),
  fc.constantFrom([], ['x'], ['x', 'x'], [1], ['string', 'null'], {}, { x: ['y'] }, { '(': true }, { type: 'string' }),
);
const reference = fc.constantFrom(
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/properties/a',
  '#/items',
  '#/allOf/0',
  '#/x',
  'a',
  '#b',
);
const KEYWORDS =
  'type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired dependencies title description default deprecated readOnly writeOnly examples format contentEncoding contentMediaType nullable id $id $anchor $comment additionalItems unknown discriminator'.split(
    ' ',
  );

const { schema } = fc.letrec<{ schema: unknown; map: unknown; list: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.dictionary(fc.constantFrom(...KEYWORDS), some, { maxKeys: 2, noNullPrototype: true }),
    fc.boolean(),
    some,
    fc.record({ $ref: reference }),
    fc.dictionary(fc.constantFrom('properties', 'patternProperties', '$defs', 'dependentSchemas'), tie('map'), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    fc.dictionary(fc.constantFrom('allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'), tie('list'), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    fc.dictionary(
      fc.constantFrom('items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'),
      tie('schema'),
      { maxKeys: 2, noNullPrototype: true },
    ),
  ),
  map: fc.dictionary(fc.constantFrom('a', 'b', 'x/y', '__proto__'), tie('schema'), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
  list: fc.array(tie('schema'), { maxLength: 3 }),
}));

const isAccepted = (parameters: unknown): boolean =>
  workflowProblems({ workflows: [{ name: 'w', parameters, steps: [] }], hasOptimizer: false }).length === 0;

test('a schema that is accepted can be compiled, and ends for every value', () => {
  let accepted = 0;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  fc.assert(
    fc.property(
      fc.record({ properties: fc.record({ a: schema, b: schema }), $defs: fc.record({ a: schema, b: schema }) }),
      fc.jsonValue(),
      (parameters, value) => {
        if (!isAccepted(parameters)) return;
        accepted += 1;
        const validate = ajv.compile(parameters);
        validate({ a: value, b: value });
      },
    ),
    { numRuns: 2_000, seed: 21 },
  );
  assert.ok(accepted > 100, `${accepted} schemas were accepted`);
});
