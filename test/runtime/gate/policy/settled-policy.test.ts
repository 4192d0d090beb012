import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { compilePolicy } from '../../../../runtime/gate/policy/compile-policy.ts';
import { requestOf } from '../../../../runtime/gate/policy/decision-request.ts';
import { parsePolicies } from '../../../../runtime/gate/policy/parse-policies.ts';
import { readArguments, readClaims } from '../../../../runtime/gate/policy/read-values.ts';
import { settledPolicy } from '../../../../runtime/gate/policy/settled-policy.ts';
import { anyPolicies } from './generated.ts';
import { toolSubject, withArguments } from './requests.ts';

const compiled = (text: string) => {
  const { policies, problems } = parsePolicies([text]);
  assert.deepEqual(problems, []);
  const [policy] = policies;
  assert.ok(policy);
  return compilePolicy(policy);
};

/** The text that Cedar gets, in one line. */
const settled = (text: string): string => settledPolicy(compiled(text)).text.replaceAll(/\s+/g, ' ').trim();

describe('a policy whose scope holds for sure', () => {
  for (const [text, expected] of [
    [
      'permit(principal, action == Action::"call_tool", resource in Backend::"x") when { principal.claim_role == "a" };',
      'permit(principal, action, resource) when { context.claim_role == "a" };',
    ],
    [
      '@id("one") forbid(principal in Group::"g", action, resource is Tool) unless { principal has claim_a && principal.claim_a.b like "x*" };',
      'forbid(principal in Group::"g", action, resource) unless { (context has claim_a) && (context.claim_a.b like "x*") };',
    ],
    [
      'permit(principal, action, resource) when { principal["claim_kubernetes.io"].namespace == "a" || [principal.claim_sub].contains("b") };',
      'permit(principal, action, resource) when { (context["claim_kubernetes.io"].namespace == "a") || [context.claim_sub].contains("b") };',
    ],
  ] as const)
    test(`asks neither for action nor for resource, and finds claims in the context: ${text}`, () => {
      assert.equal(settled(text), expected);
    });

  test('keeps what it asks otherwise of principal, resource and action', () => {
    const text =
      'permit(principal, action, resource) when { principal in Group::"g" && resource in Backend::"x" && action == Action::"call_tool" && principal.team == "t" && (if true then principal else principal).claim_role == "a" };';
    const now = settled(text);
    for (const kept of ['principal in Group::"g"', 'resource in Backend::"x"', 'principal.team', 'else principal'])
      assert.ok(now.includes(kept), now);
    assert.ok(!now.includes('context'), now);
  });

  for (const [what, text] of [
    [
      'an integer that a double does not hold',
      'permit(principal, action, resource) when { context.arg_n == 9007199254740993 };',
    ],
    ['such an integer in a set', 'permit(principal, action, resource) when { [-9223372036854775808].contains(1) };'],
    [
      'a name of one character that JSON escapes',
      'permit(principal, action, resource) when { {"\\n": 1} == {"\\n": 1} };',
    ],
  ] as const)
    test(`is left as it is with ${what}`, () => {
      const policy = compiled(text);
      assert.equal(settledPolicy(policy), policy);
    });

  test('needs no entities where it reads nothing but claims and arguments', () => {
    const policy = compiled(
      'forbid(principal, action, resource in Backend::"x") when { principal.claim_role == "a" && context.arg_repo == "b" };',
    );
    const claims = readClaims({ role: 'a', sub: 'alice', level: 1 }, policy.reads);
    const args = readArguments(withArguments({ repo: '"b"' }), policy.reads);
    const who = { entity: { kind: 'entity', type: 'Client', id: '' }, claims } as const;
    const { reads } = settledPolicy(policy);
    const world = { server: 's', written: new Map() };
    const request = requestOf(who, toolSubject('x_a'), { args, reads, world });
    assert.deepEqual({ ...request.context }, { claim_role: 'a', arg_repo: 'b' });
    assert.deepEqual(request.entities, []);
  });

  test('reads the same claims and arguments as before, of whatever policy', () => {
    let changed = 0;
    const property = fc.property(anyPolicies, (texts) => {
      for (const text of texts) {
        const policy = compiled(text);
        const now = settledPolicy(policy);
        if (now.text !== policy.text) changed += 1;
        assert.deepEqual([...now.reads.claims].toSorted(), [...policy.reads.claims].toSorted(), text);
        assert.deepEqual([...now.reads.args.keys()].toSorted(), [...policy.reads.args.keys()].toSorted(), text);
        assert.equal(now.reads.wholeContext, policy.reads.wholeContext, text);
      }
    });
    fc.assert(property, { numRuns: 100 });
    assert.ok(changed > 50, `${changed} changed`);
  });
});
