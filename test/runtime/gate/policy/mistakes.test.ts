import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { policyFindings, policyProblems, questionable } from '../../../../runtime/gate/policy/policy-findings.ts';

const PERMIT = 'permit(principal, action, resource);';
const problemsOf = (policies: readonly string[], entities?: unknown): readonly string[] =>
  policyProblems({
    policies,
    ...(entities !== undefined && { entitiesJson: typeof entities === 'string' ? entities : JSON.stringify(entities) }),
  }).map(({ path, reason, remedy }) => {
    assert.ok(remedy.length > 3);
    return `${path.join('.')}: ${reason}`;
  });

const entity = (type: string, id: string, more: object = {}) => ({
  uid: { type, id },
  attrs: {},
  parents: [],
  ...more,
});

describe('policies that cannot be used', () => {
  for (const [name, policies, entities, expected] of [
    ['are none', [PERMIT], undefined, /^$/],
    [
      'have their place',
      [PERMIT, 'permit(\n principal action, resource);'],
      undefined,
      /^policies\.1: line 2, column 12 of the policy: unexpected token `action`$/,
    ],
    [
      'count characters, not bytes',
      ['permit(principal, action, resource) when { "é" == foo };'],
      undefined,
      /column 51 of/,
    ],
    ['are several in one entry', [`${PERMIT} ${PERMIT}`], undefined, /^policies\.0: holds 2 policies$/],
    ['are templates', ['permit(principal == ?principal, action, resource);'], undefined, /expected a static policy/],
    ['are empty', [''], undefined, /^policies\.0: line 1, column 1 of the policy: unexpected end/],
    [
      'have one id',
      [`@id("a") ${PERMIT}`, `@id("a") ${PERMIT}`],
      undefined,
      /^policies\.1: its id "a" is that of policies\[0\]$/,
    ],
    ['take an id by position', [`@id("policy1") ${PERMIT}`, PERMIT], undefined, /^policies\.1: its id "policy1"/],
    ['are too long', [`//${'x'.repeat(64 * 1024)}\n${PERMIT}`], undefined, /^policies\.0: longer than 65536/],
    ['are too many', Array.from({ length: 1_001 }, () => PERMIT), undefined, /^policies: more than 1000/],
    [
      'are no Unicode',
      [`permit(principal, action, resource == Tool::"\ud800");`],
      undefined,
      /^policies\.0: not valid Unicode/,
    ],
    ['have entities that are no JSON', [PERMIT], '[', /^entitiesJson: not JSON$/],
    ['have entities that are none', [PERMIT], [{ type: 'A' }], /^entitiesJson: not a list/],
    ['have one entity twice', [PERMIT], [entity('G', 'a'), entity('G', 'a')], /is there twice$/],
    [
      'say a claim',
      [PERMIT],
      [entity('Client', 'a', { attrs: { claim_role: 'admin' } })],
      /claim_role, which comes from tokens$/,
    ],
    [
      'say what a backend has',
      [PERMIT],
      [entity('Tool', 'a', { parents: [{ type: 'Backend', id: 'b' }] })],
      /has the parent Backend::"b"$/,
    ],
    [
      'go in a circle',
      [PERMIT],
      [
        entity('G', 'a', { parents: [{ type: 'G', id: 'b' }] }),
        entity('G', 'b', { parents: [{ type: 'G', id: 'a' }] }),
      ],
      /^entitiesJson: .*cycle/,
    ],
    [
      'have a number that Cedar has not',
      [PERMIT],
      [entity('G', 'a', { attrs: { n: 1.5 } })],
      /^entitiesJson: deeper than 32 levels, or with a number/,
    ],
    ['have null', [PERMIT], [entity('G', 'a', { attrs: { n: null } })], /^entitiesJson: deeper/],
  ] as const)
    test(name, () => assert.match(problemsOf(policies, entities).join('\n'), expected));
});

test('in a file they have the path of the file, and what the schema tells is left to it', () => {
  const file = (authz: object) => ({ incomingAuth: { type: 'oidc', authz } });
  const [found] = policyFindings(file({ type: 'cedar', policies: ['permit'] }));
  assert.deepEqual(found?.path, ['incomingAuth', 'authz', 'policies', 0]);
  for (const authz of [{ type: 'cedar' }, { policies: 'permit' }, { policies: [1] }, { policies: [], entitiesJson: 1 }])
    assert.deepEqual(policyFindings(file(authz)), []);
  assert.deepEqual(policyFindings(null), []);
});

test('what they probably do not mean is a warning', () => {
  const doubts = (policies: readonly string[], entitiesJson = '[]') =>
    questionable({ policies, entitiesJson }).map(({ path, reason }) => `${path.join('.')}: ${reason}`);
  assert.deepEqual(doubts([PERMIT]), []);
  // Every user has the one; the other may be absent.
  const reading = (claim: string): string => `permit(principal, action, resource) when { principal.${claim} == "x" };`;
  assert.deepEqual(doubts([reading('claim_sub')]), []);
  assert.deepEqual(doubts([reading('claim_team')]), [
    'policies.0: reads claim_team, and where it is absent denies the call',
  ]);
  assert.deepEqual(doubts(['forbid(principal, action, resource);']), [
    'policies: no policy permits anything, so that everything is denied',
  ]);
  assert.deepEqual(doubts([PERMIT, 'permit(principal, action == Action::"call", resource is Tol);']), [
    'policies.1: there are no entities of type Tol',
    'policies.1: there is no Action::"call"',
  ]);
  assert.deepEqual(doubts(['permit(principal, action, resource) when { context.tool == "x" };']), [
    'policies.0: the context has no tool',
  ]);
  assert.deepEqual(doubts(['permit(principal, action, resource) when { principal.claim_a == context.arg_b };']), [
    'policies.0: reads claim_a, and where it is absent denies the call',
    'policies.0: reads arg_b, and where it is absent denies the call',
  ]);
  assert.deepEqual(
    [
      reading('claim_sub'),
      'permit(principal, action, resource) when { principal.claim_sub == "x" && context.claim_iss == "https://a" };',
      'forbid(principal, action, resource) when { principal.claim_sub == "x" };',
      PERMIT,
    ].map((text) =>
      questionable({ policies: [PERMIT, text], hasFurtherIssuers: true }).map(({ path }) => path.join('.')),
    ),
    [['policies.1'], [], [], []],
    'a subject alone, where there are several issuers',
  );
  const groups = JSON.stringify([entity('Client', 'a', { parents: [{ type: 'Group', id: 'g' }] })]);
  assert.deepEqual(doubts(['permit(principal in Group::"g", action, resource);'], groups), []);
});
