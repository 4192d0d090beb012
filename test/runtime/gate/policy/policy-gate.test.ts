import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Access, Caller, CallRecord, User } from '../../../../runtime/call/index.ts';
import type { LiveConfig } from '../../../../runtime/config/index.ts';
import { fileIncomingAuthSchema } from '../../../../runtime/config/incoming-auth.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { type PolicyGateDeps, policyGate, policySettingsOf } from '../../../../runtime/gate/index.ts';
import { createMetrics } from '../../../../runtime/observe/index.ts';
import { taskIdOf } from '../../../../runtime/call/task-id.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { toolCall, toolTarget } from './requests.ts';

interface Line {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

const gateOf = (authz: object, more: Partial<PolicyGateDeps> = {}) => {
  const oidc = { issuer: 'https://idp.example', audience: 'a', clientId: 'c' };
  const incomingAuth = fileIncomingAuthSchema.parse({ type: 'oidc', oidc, authz });
  const config = { name: 's', incomingAuth, extensions: { issuers: [] } };
  const lines: Line[] = [];
  const line =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push({ level, fields, message });
  const clock = frozenClock();
  const live: LiveConfig['live'] = (part, make) => {
    const made = make(part(config as unknown as Parameters<typeof part>[0]));
    return () => made;
  };
  const gate = policyGate({
    config: { live } as LiveConfig,
    clock,
    steadyNow: clock.now,
    meter: createMetrics().meter,
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    ...more,
  });
  return { gate, lines, clock };
};

const cedar = (...policies: string[]) => ({ type: 'cedar', policies });

/** Undefined where the access is admitted, else the code of the refusal. */
const refusalOf = async (run: () => void | Promise<void>): Promise<string | undefined> => {
  try {
    await run();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof VmcpError);
    assert.equal(error.message, 'forbidden');
    return error.code;
  }
};

const ofRole =
  'permit(principal, action, resource) when { principal has claim_role && principal.claim_role == "admin" };';

test('a decision is made at once, and no claim or argument is logged when one fails', async () => {
  const { gate, lines, clock } = gateOf(
    cedar('@id("odd") permit(principal, action, resource) when { context.arg_secret > 1 };'),
  );
  const denied = () => refusalOf(() => gate.authorize(toolCall('x_a', { secret: '"hunter2"' }), toolTarget('x_a')));
  for (let i = 0; i < 20; i += 1) assert.equal(await denied(), 'forbidden');
  assert.deepEqual(
    new Set(lines.map(({ message }) => message)),
    new Set(['policy could not be evaluated, access denied']),
  );
  assert.equal(lines.length, 10);
  assert.deepEqual(lines[0]?.fields, { policy: 'odd' });
  clock.advance(10_000);
  await denied();
  assert.deepEqual(lines.at(-1)?.fields, { policy: 'odd', unsaid: 10 });
  assert.ok(!JSON.stringify(lines).includes('hunter2'));
  assert.equal(gate.authorize(toolCall('x_a', { secret: '2' }), toolTarget('x_a')), undefined);
});

test('what a policy in dry run would have decided is logged', async () => {
  const { gate, lines } = gateOf(
    cedar('permit(principal, action, resource);', '@id("try") @dryRun forbid(principal, action, resource);'),
  );
  assert.equal(await refusalOf(() => gate.authorize(toolCall('x_a'), toolTarget('x_a'))), undefined);
  assert.deepEqual(lines, [
    {
      level: 'info',
      fields: { policy: 'try', wouldHave: 'denied' },
      message: 'policy in dry run would decide otherwise',
    },
  ]);
});

test('a decision ends with the token: the same user with other claims is decided anew', async () => {
  const { gate } = gateOf(cedar(ofRole));
  const target = toolTarget('x_a');
  const withRole = (role: string): Access => toolCall('x_a', {}, 'alice', { role });
  for (const [role, expected] of [
    ['admin', undefined],
    ['user', 'forbidden'],
    ['admin', undefined],
  ] as const)
    assert.equal(await refusalOf(() => gate.authorize(withRole(role), target)), expected);
});

test('callers who are alike in what policies read see the same lists, and others do not', async () => {
  const { gate } = gateOf(cedar(ofRole));
  const keyOf = async (subject: string, claims: object): Promise<string | undefined> =>
    (await gate.visible(userOf(subject, { claims: { sub: subject, ...claims } })))?.key;
  assert.equal(await keyOf('a', { role: 'admin', email: 'a' }), await keyOf('b', { role: 'admin', email: 'b' }));
  assert.notEqual(await keyOf('a', { role: 'admin' }), await keyOf('a', { role: 'user' }));
  assert.notEqual(await keyOf('a', { role: 'admin' }), await keyOf('a', { role: 1.23456 }));
});

test('a caller who is no user is denied, and sees nothing', async () => {
  const { gate } = gateOf(cedar('permit(principal, action, resource);'));
  for (const caller of [{ kind: 'anonymous' }, { kind: 'probe' }] as const satisfies readonly Caller[]) {
    const record: CallRecord = { target: undefined, decision: undefined };
    assert.equal(
      await refusalOf(() => gate.authorize({ ...toolCall('x_a'), caller }, toolTarget('x_a'), record)),
      'forbidden',
    );
    assert.equal(record.decision?.isAllowed, false);
    const visibility = await gate.visible(caller);
    assert.equal(visibility?.isVisible({ name: 'x_a', target: toolTarget('x_a') }, 'tools'), false);
  }
});

test('claims of an upstream provider take the place of those of the token; without them nothing is admitted', async () => {
  const authz = { ...cedar(ofRole), primaryUpstreamProvider: 'corp' };
  const asked: string[] = [];
  const upstreamClaims = async (user: User, provider: string) => {
    asked.push(provider);
    return user.subject === 'alice' ? { role: 'admin' } : undefined;
  };
  const { gate, lines } = gateOf(authz, { upstreamClaims });
  const access = (subject: string): Access =>
    toolCall('x_a', {}, subject, { role: subject === 'alice' ? 'user' : 'admin' });
  assert.equal(await refusalOf(() => gate.authorize(access('alice'), toolTarget('x_a'))), undefined);
  assert.equal(await refusalOf(() => gate.authorize(access('bob'), toolTarget('x_a'))), 'forbidden');
  assert.deepEqual(asked, ['corp', 'corp']);
  assert.deepEqual(
    lines.map(({ message }) => message),
    ['the claims that policies read cannot be had, access denied'],
  );
  const without = gateOf(authz).gate;
  assert.equal(await refusalOf(() => without.authorize(access('alice'), toolTarget('x_a'))), 'forbidden');
});

test('a task is decided by its backend', async () => {
  const { gate } = gateOf(cedar('permit(principal, action == Action::"call_tool", resource in Backend::"x");'));
  const task = (backend: string): Access => ({
    ...toolCall('x_a'),
    method: 'subscriptions/listen',
    names: 'task',
    name: taskIdOf({ backend, ownId: '1' }) ?? '',
  });
  const own = { kind: 'backend', ownName: Buffer.from('"1"') } as const;
  assert.equal(await refusalOf(() => gate.authorize(task('x'), { ...own, backend: 'x' })), undefined);
  assert.equal(await refusalOf(() => gate.authorize(task('y'), { ...own, backend: 'y' })), 'forbidden');
});

test('an override of annotations counts, and not what the backend says', async () => {
  const { gate } = gateOf(
    cedar('permit(principal, action, resource) when { resource has readOnlyHint && resource.readOnlyHint };'),
  );
  const target = toolTarget('x_a');
  assert.equal(await refusalOf(() => gate.authorize(toolCall('x_a'), target)), undefined);
  const overridden = { ...target, annotations: { readOnlyHint: false } };
  assert.equal(await refusalOf(() => gate.authorize(toolCall('x_a'), overridden)), 'forbidden');
});

test('without policies there are none', () => {
  const { gate } = gateOf({ type: 'none' });
  assert.equal(gate.policies(), undefined);
  assert.equal(gate.visible(userOf('a')), undefined);
  assert.equal(gate.authorize(toolCall('x_a'), toolTarget('x_a')), undefined);
  const anonymous = fileIncomingAuthSchema.parse({
    type: 'anonymous',
    authz: cedar('forbid(principal, action, resource);'),
  });
  assert.equal(policySettingsOf({ name: 's', incomingAuth: anonymous, extensions: { issuers: [] } }), undefined);
});
