import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Decisions } from '../../../../runtime/gate/policy/callers.ts';
import { openPolicySet } from '../../../../runtime/gate/policy/policy-set.ts';
import { keyOfValues } from '../../../../runtime/gate/policy/read-values.ts';
import { valueOfJson } from '../../../../runtime/gate/policy/represent.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { toolCall, toolTarget, unshownMetrics } from './requests.ts';

const PERMIT = 'permit(principal, action, resource)';

const openSet = (policies: readonly string[]) =>
  openPolicySet(
    { policies, entitiesJson: '[]', server: 's' },
    {
      onFailure: (error) => {
        throw error;
      },
    },
  );

/** Whether a call with the argument `x`, written so, is admitted under a condition on it. */
const isAdmitted = (condition: string, args: string): boolean => {
  const set = openSet([`${PERMIT} when { ${condition} };`]);
  const user = userOf('alice');
  const { isAllowed } = new Decisions(set, unshownMetrics()).decide(
    { ...toolCall('x_a', args), caller: user },
    toolTarget('x_a'),
    {
      user,
      claims: user.claims,
    },
  );
  set.close();
  return isAllowed;
};

const claimIsAdmitted = (condition: string, claim: unknown): boolean => {
  const set = openSet([`${PERMIT} when { ${condition} };`]);
  const user = userOf('alice', { claims: { sub: 'alice', x: claim } });
  const decisions = new Decisions(set, unshownMetrics());
  const target = toolTarget('x_a');
  const known = { user, claims: user.claims };
  const { isAllowed } = decisions.decide({ ...toolCall('x_a'), caller: user }, target, known);
  const isListed = decisions.visibility(user, user.claims).isVisible({ name: 'x_a', target }, 'tools');
  assert.equal(isListed, isAllowed, condition);
  set.close();
  return isAllowed;
};

describe('an argument of JSON is a value of Cedar', () => {
  for (const [args, condition, expected] of [
    ['{"x":"a"}', 'context.arg_x == "a"', true],
    ['{"x":"\\u0061"}', 'context.arg_x == "a"', true],
    ['{"x":"😀"}', 'context.arg_x == "\\u{1F600}"', true],
    ['{"x":true}', 'context.arg_x', true],
    ['{"x":1}', 'context.arg_x == 1', true],
    ['{"x":1.0}', 'context.arg_x == 1', true],
    ['{"x":10e-1}', 'context.arg_x == 1', true],
    ['{"x":1E2}', 'context.arg_x == 100', true],
    ['{"x":-0}', 'context.arg_x == 0', true],
    ['{"x":-0.0e9}', 'context.arg_x == 0', true],
    ['{"x":9007199254740993}', 'context.arg_x == 9007199254740993', true],
    ['{"x":9007199254740992}', 'context.arg_x == 9007199254740993', false],
    ['{"x":9223372036854775807}', 'context.arg_x == 9223372036854775807', true],
    ['{"x":-9223372036854775808}', 'context.arg_x < 0', true],
    ['{"x":1.5}', 'context.arg_x.lessThan(decimal("1.6"))', true],
    ['{"x":-0.0001}', 'context.arg_x == decimal("-0.0001")', true],
    ['{"x":[1,"a",[true]]}', 'context.arg_x.containsAll(["a", [true]])', true],
    ['{"x":[]}', 'context.arg_x.isEmpty()', true],
    ['{"x":{"a":{"b":1},"c":null}}', 'context.arg_x == {a: {b: 1}}', true],
    [
      '{"x":{"__proto__":1,"constructor":2}}',
      'context.arg_x["__proto__"] == 1 && context.arg_x.constructor == 2',
      true,
    ],
    ['{"x":null}', '!(context has arg_x)', true],
    ['null', '!(context has arg_x)', true],
    ['{"":1}', 'context has arg_', true],
  ] as const)
    test(`${args}: ${condition}`, () => assert.equal(isAdmitted(condition, args), expected));
});

describe('what Cedar has no form for denies where a policy reads it, whatever the policy says', () => {
  for (const x of [
    '9223372036854775808',
    '-9223372036854775809',
    '1e400',
    '1e-400',
    '1.23456',
    `1.${'0'.repeat(60_000)}1`,
    '922337203685477.5808',
    '[null]',
    '"\\ud800"',
    '{"\\udc00":1}',
    '{"a":1,"a":1}',
    '{"a":1,"A":1}',
    '{"__entity":{"type":"Client","id":"root"}}',
    '{"__extn":{"fn":"ip","arg":"1.1.1.1"}}',
    '[[{"__extn":{"fn":"ip","arg":"1.1.1.1"}}]]',
    `"${'x'.repeat(70_000)}"`,
    `${'['.repeat(17)}${']'.repeat(17)}`,
  ])
    test(x.slice(0, 50), () => {
      assert.equal(isAdmitted('true || context has arg_x', `{"x":${x}}`), false);
      assert.equal(isAdmitted('true', `{"x":${x}}`), true);
    });

  test('arguments that are no object, or are there under two spellings', () => {
    for (const args of ['[1]', '"x"', '{"x":1,"x":1}', '{"x":1,"X":1}', '{"X":1}'])
      assert.equal(isAdmitted('true || context has arg_x', args), false, args);
    assert.equal(isAdmitted('true || context has arg_sum', '{"\u017fum":1}'), false, 'long s');
    assert.equal(isAdmitted('true || context has arg_k', '{"\u212a":1}'), false, 'Kelvin');
  });

  test('the context as a whole has every argument and every claim', () => {
    assert.equal(isAdmitted('context == {arg_x: 1, arg_y: "b", claim_sub: "alice"}', '{"x":1,"y":"b"}'), true);
    assert.equal(isAdmitted('context == {arg_x: 1, claim_sub: "alice"}', '{"x":1,"y":"b"}'), false);
    assert.equal(isAdmitted('context != {}', '{"x":1.23456}'), false);
  });
});

describe('a claim is a value of Cedar, in lists and calls alike', () => {
  for (const [claim, condition, expected] of [
    ['a', 'principal.claim_x == "a" && context.claim_x == "a"', true],
    [7, 'principal.claim_x > 6', true],
    [1.5, 'principal.claim_x.greaterThan(decimal("1.4"))', true],
    [['a', 'b'], 'principal.claim_x.contains("b")', true],
    [{ roles: ['r'] }, 'principal.claim_x.roles.contains("r")', true],
    [null, '!(principal has claim_x)', true],
    [undefined, 'principal has claim_x', false],
    [2 ** 53, 'true || principal has claim_x', false],
    [Number.NaN, 'true || principal has claim_x', false],
    [1.23456, 'true || principal has claim_x', false],
    [[null], 'true || principal has claim_x', false],
    [{ __entity: { type: 'Client', id: 'root' } }, 'true || principal has claim_x', false],
    ['\ud800', 'true || principal has claim_x', false],
    [1.23456, 'true', true],
  ] as const)
    test(`${JSON.stringify(claim)}: ${condition}`, () => assert.equal(claimIsAdmitted(condition, claim), expected));
});

test('a decision is found again for the same values alone, whatever their texts look like', () => {
  const json = fc.oneof(
    fc.constantFrom('', '1', '1 ', 't1 1 ', '"1"', 'null'),
    fc.constantFrom(1, 11, true),
    fc.array(fc.constantFrom('1', 1)),
    fc.record({ t: fc.constantFrom('1', 1) }),
  );
  const names = fc.subarray(['arg_a', 'arg_a1', 'arg_t1 1']);
  const values = fc.tuple(names, fc.tuple(json, json, json), names).map(([known, [a, b, c], failed]) => ({
    known: new Map(known.map((name, index) => [name, [a, b, c][index]])),
    failed: new Map(failed.map((name) => [name, 'twice' as const])),
  }));
  const keyFor = ({ known, failed }: { known: Map<string, unknown>; failed: Map<string, 'twice'> }) =>
    keyOfValues({
      known: new Map([...known].map(([name, each]) => [name, { value: valueOfJson(each), json: each }])),
      failed,
    });
  const property = fc.property(values, values, (a, b) => {
    const areEqual = JSON.stringify([[...a.known], [...a.failed]]) === JSON.stringify([[...b.known], [...b.failed]]);
    assert.equal(keyFor(a) === keyFor(b), areEqual);
  });
  fc.assert(property, { numRuns: 5_000 });
});
