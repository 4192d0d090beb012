import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type RoleMapping,
  type RoleSettings,
  roleChoiceBy,
} from '../../../../runtime/outgoing/cloud-sts/role-mappings.ts';
import { connectSts, roleArn, userWith } from '../../../fixtures/cloud-sts.ts';
import { covers } from '../../../requirements.ts';

type Mapping = Omit<RoleMapping, 'roleArn'> & { readonly role: string };

const settings = (mappings: readonly Mapping[], more: Partial<RoleSettings> = {}): RoleSettings => ({
  roleClaim: 'groups',
  roleMappings: mappings.map(({ role, ...each }) => ({ ...each, roleArn: role })),
  fallbackRoleArn: 'fallback',
  ...more,
});

const chosen = (given: RoleSettings, claims: Readonly<Record<string, unknown>>): string => {
  const choice = roleChoiceBy(given)(claims);
  return choice.kind === 'role' ? choice.roleArn : choice.kind;
};

/** What the service was asked for, with the mappings of the file. */
const assumed = async (block: object, claims: object): Promise<string | undefined> => {
  const strategy = await connectSts(block);
  try {
    await strategy.send(userWith(claims));
    return strategy.sts.given[0]?.roleArn;
  } finally {
    await strategy.close();
  }
};

describe('a mapping by claim', () => {
  const admins = { roleMappings: [{ roleArn: roleArn('admin'), claim: 'admins' }] };

  covers('outgoing-auth.cloud-sts.mapping-claim', 'outgoing.cloud-sts.role-claim-default');
  covers('outgoing.role-mapping.claim-match');
  test('applies to a member of the list, and not to what is merely part of one', async () => {
    assert.equal(await assumed(admins, { groups: ['devs', 'admins'] }), roleArn('admin'));
    assert.equal(
      await assumed(admins, { groups: ['adminsx', 'xadmins', 'admin', 'Admins', ' admins'] }),
      roleArn('fallback'),
    );
  });

  covers('outgoing-auth.cloud-sts.role-claim', 'outgoing.cloud-sts.role-claim-set');
  test('looks into the claim that is set, and into no other', async () => {
    const inRoles = { ...admins, roleClaim: 'https://example.com/roles' };
    assert.equal(await assumed(inRoles, { 'https://example.com/roles': ['admins'] }), roleArn('admin'));
    assert.equal(await assumed(inRoles, { groups: ['admins'] }), roleArn('fallback'));
  });

  for (const [fact, groups, role] of [
    ['a list', ['admins'], 'admin'],
    ['a list with other things in it', [1, null, ['admins'], 'admins'], 'admin'],
    ['a single text that is the value', 'admins', 'admin'],
    ['a single text that has the value in it', 'devs admins', 'fallback'],
    ['an empty list', [], 'fallback'],
    ['nothing', undefined, 'fallback'],
    ['null', null, 'fallback'],
    ['a list inside a list', [['admins']], 'fallback'],
    ['an object with that key: which role is meant is not known', { admins: true }, 'undecided'],
    ['a number', 7, 'undecided'],
    ['true', true, 'undecided'],
  ] as const)
    test(`takes ${fact}`, () => {
      assert.equal(chosen(settings([{ role: 'admin', claim: 'admins' }]), { groups }), role);
    });

  test('takes no member that an object inherits', () => {
    assert.equal(chosen(settings([{ role: 'r', claim: 'x' }], { roleClaim: 'toString' }), {}), 'fallback');
  });
});

describe('a mapping by matcher', () => {
  covers('outgoing-auth.cloud-sts.mapping-matcher', 'outgoing.role-mapping.matcher-cel');
  test('applies where its expression is true for the claims', async () => {
    const matcher = 'claims.email.endsWith("@example.com") && "devs" in claims.groups';
    const block = { roleMappings: [{ roleArn: roleArn('dev'), matcher }] };
    assert.equal(await assumed(block, { email: 'a@example.com', groups: ['devs'] }), roleArn('dev'));
    assert.equal(await assumed(block, { email: 'a@example.com', groups: ['ops'] }), roleArn('fallback'));
    assert.equal(await assumed(block, { email: 'a@example.org', groups: ['devs'] }), roleArn('fallback'));
  });

  test('does not apply where a claim is missing, and gives no role at all where it fails otherwise', () => {
    const by = (matcher: string) => settings([{ role: 'dev', matcher }]);
    assert.equal(chosen(by('claims.level > 3.0'), {}), 'fallback');
    assert.equal(chosen(by('claims.level > 3.0'), { level: 'x' }), 'undecided');
    assert.equal(chosen(by('claims.level'), { level: 3 }), 'undecided');
    assert.equal(chosen(by('claims.level'), { level: true }), 'dev');
  });

  test('that runs too long gives no role, and keeps nobody waiting', () => {
    const matcher = 'claims.groups.all(a, claims.groups.all(b, claims.groups.all(c, a + b + c != "")))';
    const groups = Array.from({ length: 2_000 }, (_each, index) => `group-${index}`);
    assert.equal(chosen(settings([{ role: 'r', matcher }]), { groups }), 'undecided');
    assert.equal(chosen(settings([{ role: 'r', matcher }]), { groups: groups.slice(0, 5) }), 'r');
    const many = { groups: Array.from({ length: 20_000 }, () => 'x') };
    assert.equal(chosen(settings([{ role: 'r', matcher: 'true' }]), many), 'undecided');
    assert.equal(chosen(settings([{ role: 'r', claim: 'x' }]), many), 'r');
  });

  test('and 63 others together may do as much as one', () => {
    const matcher = 'claims.groups.exists(g, g == "")';
    const groups = Array.from({ length: 2_000 }, (_each, index) => `group-${index}`);
    const of = (count: number) => settings(Array.from({ length: count }, () => ({ role: 'r', matcher })));
    assert.equal(chosen(of(2), { groups }), 'fallback');
    assert.equal(chosen(of(64), { groups }), 'undecided');
    assert.equal(chosen(of(64), { groups: groups.slice(0, 100) }), 'fallback');
  });

  test('that is no condition is no strategy', () => {
    assert.throws(() => roleChoiceBy(settings([{ role: 'r', matcher: 'claims.' }])), /roleMappings\[0\]\.matcher/);
  });
});

describe('of several mappings', () => {
  const claims = { groups: ['a', 'b', 'c'] };
  const of = (...mappings: readonly (readonly [string, number?])[]) =>
    settings(mappings.map(([claim, priority]) => ({ role: claim, claim, priority })));

  covers('outgoing-auth.cloud-sts.mapping-priority', 'outgoing.role-mapping.priority-order');
  test('that of the lowest priority decides', () => {
    assert.equal(chosen(of(['a', 20], ['b', 10], ['c', 30]), claims), 'b');
    assert.equal(chosen(of(['a', 1], ['b', 0]), claims), 'b');
    assert.equal(chosen(of(['a', 20], ['x', 10], ['c', 30]), claims), 'a');
  });

  covers('outgoing.role-mapping.priority-omitted');
  test('one without a priority comes last', () => {
    assert.equal(chosen(of(['a'], ['b', 2_147_483_647]), claims), 'b');
    assert.equal(chosen(of(['a'], ['x', 0]), claims), 'a');
  });

  covers('outgoing.role-mapping.priority-tie');
  test('the first one in the list wins a tie', () => {
    assert.equal(chosen(of(['c', 5], ['a', 5], ['b', 5]), claims), 'c');
    assert.equal(chosen(of(['b'], ['a']), claims), 'b');
  });

  test('claims and matchers are tried in one order', () => {
    const mixed = (first: number, second: number) =>
      settings([
        { role: 'claim', claim: 'a', priority: first },
        { role: 'matcher', matcher: '"a" in claims.groups', priority: second },
      ]);
    assert.deepEqual([chosen(mixed(1, 2), claims), chosen(mixed(2, 1), claims)], ['claim', 'matcher']);
  });

  test('one that fails hides those behind it, and none in front of it', () => {
    const failing = (priority: number) =>
      settings([
        { role: 'other', claim: 'a', priority: 5 },
        { role: 'failing', matcher: 'claims.groups == 1 || claims.groups > 1', priority },
      ]);
    assert.equal(chosen(failing(1), claims), 'undecided');
    assert.equal(chosen(failing(9), claims), 'other');
  });

  test('without a match there is the fallback, and without that no role', () => {
    assert.equal(chosen(of(['x']), claims), 'fallback');
    assert.equal(chosen({ ...of(['x']), fallbackRoleArn: undefined }, claims), 'none');
    assert.equal(chosen({ roleClaim: 'groups', fallbackRoleArn: 'f' }, {}), 'f');
  });
});

test('a user for whom no role is meant, or whose role cannot be told, gets an error that says so', async () => {
  const strategy = await connectSts({
    fallbackRoleArn: undefined,
    roleMappings: [{ roleArn: roleArn('admin'), claim: 'admins' }],
  });
  await assert.rejects(strategy.send(userWith({ groups: ['devs'] })), {
    code: 'credential_unavailable',
    message: 'no credential for backend "a" (cloud_sts): no role is meant for this user',
  });
  await assert.rejects(strategy.send(userWith({ groups: 7 })), {
    code: 'credential_unavailable',
    message: 'no credential for backend "a" (cloud_sts): which role is meant for this user cannot be decided',
    detail: 'roleMappings[0]: failed',
  });
  assert.equal(strategy.sts.count(), 0);
  await strategy.close();
});
