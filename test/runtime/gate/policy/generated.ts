import * as fc from 'fast-check';

/** Generated texts of Cedar, over few names and constants, so that policies often have something to do with a request. */

const claim = fc.constantFrom('claim_sub', 'claim_role', 'claim_level', 'claim_groups', 'claim_none');
const argument = fc.constantFrom('arg_repo', 'arg_n', 'arg_force');

/** Constants, as policies and as arguments have them. */
export const CONSTANTS = ['"a"', '"ab"', '1', '2', '5', 'true', 'false'] as const;
const constant = fc.constantFrom(...CONSTANTS);
const entity = fc.constantFrom(
  'Tool::"x_a"',
  'Tool::"x_b"',
  'Backend::"x"',
  'MCP::"s"',
  'Group::"g"',
  'Client::"alice"',
);

const claimValue = fc.tuple(fc.constantFrom('principal', 'context'), claim).map(([of, name]) => `${of}.${name}`);
const argumentValue = argument.map((name) => `context.${name}`);
const guardedArgument = argument.map((name) => `context has ${name}`);

const compared = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    fc.tuple(value, fc.constantFrom('==', '!=', '<', '<=', '>', '>='), constant).map((parts) => parts.join(' ')),
    fc.tuple(constant, fc.constantFrom('==', '!=', '<', '>='), value).map((parts) => parts.join(' ')),
    fc.tuple(fc.array(constant, { maxLength: 3 }), value).map(([items, of]) => `[${items.join(', ')}].contains(${of})`),
  );

/** Conditions in which each argument is only compared with what depends on no argument. */
const plainAtom: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: compared(argumentValue), weight: 4 },
  guardedArgument,
  argumentValue,
  compared(claimValue),
  fc.tuple(argumentValue, fc.constantFrom('==', '!='), claimValue).map((parts) => parts.join(' ')),
  fc.tuple(fc.constantFrom('principal', 'context'), claim).map(([of, name]) => `${of} has ${name}`),
  fc
    .tuple(fc.constantFrom('principal', 'resource', 'action'), fc.constantFrom('in', '=='), entity)
    .map((parts) => parts.join(' ')),
  fc.constantFrom('resource has readOnlyHint && resource.readOnlyHint', 'resource.name like "x_*"', 'true', 'false'),
);

/** The same, and conditions in which nothing follows arguments. */
const anyAtom: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: plainAtom, weight: 4 },
  fc
    .tuple(argumentValue, fc.constantFrom('"a*"', '"*b"', '"*"', '"a"'))
    .map(([of, pattern]) => `${of} like ${pattern}`),
  fc.tuple(argumentValue, constant).map(([of, item]) => `${of}.contains(${item})`),
  fc.tuple(argumentValue, argumentValue).map(([one, other]) => `${one} == ${other}`),
  fc.tuple(argumentValue, constant).map(([one, other]) => `${one} + ${other} > 3`),
  fc.tuple(argument, constant).map(([name, other]) => `context has ${name}.deep && context.${name}.deep == ${other}`),
  fc.tuple(claimValue, constant).map(([of, item]) => `${of}.contains(${item})`),
  fc.constantFrom(
    'context == {}',
    '[context.arg_repo] == ["a"]',
    '{a: context.arg_n} == {a: 1}',
    'resource is Tool in Backend::"x"',
    'ip("10.0.0.1").isLoopback()',
    'decimal("1.0").lessThan(decimal("2.0"))',
    '[resource, principal].contains(Tool::"x_a")',
    'principal in [Group::"g", Tool::"x_a"]',
    '9223372036854775807 + context.arg_n > 0',
    'principal.team.name == "t"',
    '(if context.arg_force then context.arg_n else 2) == 2',
    '!principal.claim_groups.isEmpty() && principal.claim_groups.containsAny(["a", 3])',
    'context has claim_role && -1 * context.arg_n < 0',
  ),
);

const expression = (atom: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { arbitrary: atom, weight: 3 },
      fc.tuple(tie('tree'), fc.constantFrom('&&', '||'), tie('tree')).map(([a, op, b]) => `(${a} ${op} ${b})`),
      tie('tree').map((inner) => `!(${inner})`),
      fc.tuple(tie('tree'), tie('tree'), tie('tree')).map(([a, b, c]) => `(if ${a} then ${b} else ${c})`),
    ),
  })).tree;

const scope = fc.tuple(
  fc.constantFrom('principal', 'principal == Client::"alice"', 'principal in Group::"g"', 'principal is Client'),
  fc.constantFrom(
    'action',
    'action',
    'action == Action::"call_tool"',
    'action in [Action::"get_prompt", Action::"call_tool"]',
  ),
  fc.constantFrom(
    'resource',
    'resource',
    'resource == Tool::"x_a"',
    'resource in Backend::"x"',
    'resource is Tool',
    'resource is Prompt',
  ),
);

const policy = (atom: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom('permit', 'permit', 'forbid'),
      scope,
      fc.array(fc.tuple(fc.constantFrom('when', 'when', 'unless'), expression(atom)), { maxLength: 2 }),
    )
    .map(
      ([effect, parts, conditions]) =>
        `${effect}(${parts.join(', ')})${conditions.map(([kind, body]) => ` ${kind} { ${body} }`).join('')};`,
    );

export const plainPolicies = fc.array(policy(plainAtom), { minLength: 1, maxLength: 4 });
export const anyPolicies = fc.array(policy(anyAtom), { minLength: 1, maxLength: 4 });

const claimsWith = (level: fc.Arbitrary<number>) =>
  fc.record(
    {
      role: fc.constantFrom('a', 'ab', 1, true),
      level,
      groups: fc.constantFrom([], ['a'], ['a', 'ab'], 'a'),
    },
    { requiredKeys: [] },
  );

const LEVELS = [1, 2, 5, 6] as const;

/** Claims of a caller; with plain ones, nothing is left to Cedar. */
export const plainClaims = claimsWith(fc.constantFrom(...LEVELS));
export const claims = claimsWith(fc.constantFrom(...LEVELS, 1.5));

export const subjects = fc.constantFrom('alice', 'bob');

export const ENTITIES = JSON.stringify([
  {
    uid: { type: 'Client', id: 'alice' },
    attrs: { team: { __entity: { type: 'Team', id: 't' } } },
    parents: [{ type: 'Group', id: 'g' }],
  },
  { uid: { type: 'Team', id: 't' }, attrs: { name: 't' }, parents: [] },
]);

/** Arguments that make a difference to the policies above: JSON text of each, undefined: absent. */
export const ARGUMENT_VALUES = [
  undefined,
  '"a"',
  '"ab"',
  '"zb"',
  '"alice"',
  '"bob"',
  '[]',
  '["a","ab"]',
  '0',
  '1',
  '2',
  '3',
  '5',
  '6',
  'true',
  'false',
  '["a"]',
  '{"deep":1}',
] as const;
