import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CedarFailure,
  type PolicyRequest,
  preparePolicies,
  withCedar,
} from '../../../../runtime/gate/policy/engine.ts';
import { isTooDeep } from '../../../../runtime/gate/policy/policy-text.ts';
import { parsePolicies } from '../../../../runtime/gate/policy/parse-policies.ts';

const REQUEST: PolicyRequest = {
  principal: { type: 'Client', id: 'a' },
  action: { type: 'Action', id: 'call_tool' },
  resource: { type: 'Tool', id: 't' },
  context: {},
  entities: [],
};

const EVERYTHING = { a: 'permit(principal, action, resource);' };
const NOTHING = { f: 'forbid(principal, action, resource);' };

test('released policies decide nothing any more, whoever has their place now', () => {
  const first = preparePolicies(NOTHING);
  first.release();
  const second = preparePolicies(EVERYTHING);
  assert.equal(second.authorize(REQUEST).decision, 'allow');
  assert.throws(() => first.authorize(REQUEST), CedarFailure);
  second.release();
});

test('after Cedar has failed, policies are parsed again and decide as before', () => {
  const prepared = preparePolicies(EVERYTHING);
  const boom = (): never => {
    throw new Error('memory access out of bounds');
  };
  assert.throws(() => withCedar(boom), CedarFailure);
  assert.deepEqual(prepared.authorize(REQUEST), { decision: 'allow', reason: ['a'], failed: [] });
  prepared.release();
});

describe('what is nested too deeply never reaches Cedar, and what does reach it is parsed', () => {
  const shapes: Readonly<Record<string, (depth: number) => string>> = {
    parentheses: (n) => `${'('.repeat(n)}true${')'.repeat(n)}`,
    sets: (n) => `${'['.repeat(n)}1${']'.repeat(n)} == 1`,
    negations: (n) => `${'!(true && '.repeat(n)}true${')'.repeat(n)}`,
    attributes: (n) => `context${'.a'.repeat(n)}`,
    indexes: (n) => `context${'["a"]'.repeat(n)}`,
    sums: (n) => `1${' + 1'.repeat(n)} == 1`,
    alternatives: (n) => `${'(context.a == 1) || '.repeat(n)}true`,
    choices: (n) => `${'if true then true else '.repeat(n)}true`,
    calls: (n) => `context.a${'.contains(1)'.repeat(n)}`,
    mixed: (n) => `${'(if [1].contains(context.a) then '.repeat(n)}true${' else false && true)'.repeat(n)}`,
    records: (n) => `${'{a: '.repeat(n)}1${'}'.repeat(n)} == 1`,
  };
  for (const [name, shape] of Object.entries(shapes))
    test(name, () => {
      const policyOf = (depth: number): string => `permit(principal, action, resource) when { ${shape(depth)} };`;
      assert.equal(isTooDeep(policyOf(400)), true);
      let deepest = 1;
      while (!isTooDeep(policyOf(deepest + 1))) deepest += 1;
      assert.ok(deepest >= 10, String(deepest));
      const { policies, problems } = parsePolicies([policyOf(deepest)]);
      assert.deepEqual(problems, []);
      const prepared = preparePolicies({ p: policies[0]?.text ?? '' });
      prepared.authorize(REQUEST);
      prepared.release();
    });

  test('brackets in texts and comments do not count', () => {
    assert.equal(isTooDeep(`permit(principal, action, resource) when { "${'('.repeat(400)}" == "" };`), false);
    assert.equal(isTooDeep(`permit(principal, action, // ${'('.repeat(400)}\n resource);`), false);
  });

  test('a bracket too many does not hide what follows', () => {
    assert.equal(isTooDeep(`)))${'('.repeat(400)}`), true);
  });
});
