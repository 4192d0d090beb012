import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { KubeObject } from '../../../../../operator/object.ts';
import type { BackendStatus } from '../../../../../runtime/status/report.ts';
import { covers } from '../../../../requirements.ts';
import {
  availableDeployment,
  condition,
  entry,
  group,
  ownedByServer,
  planned,
  planOf,
  report,
  server,
  statusOf,
} from '../../plan-of-demo.ts';

const statusWith = (backends: Readonly<Record<string, BackendStatus>>) =>
  statusOf(
    planOf({
      objects: [server(), group(), ...Object.keys(backends).map((name) => entry(name)), availableDeployment],
      reports: new Map([['pod-a', report(backends)]]),
    }),
  );

covers('status.backend-count.counts-ready', 'status.backend-count.counts-unauthenticated');
test('ready and unauthenticated backends count as routable', () => {
  assert.equal(statusWith({})['backendCount'], 0);
  assert.equal(statusWith({ a: 'ready', b: 'ready', c: 'ready' })['backendCount'], 3);
  assert.equal(statusWith({ a: 'ready', b: 'unauthenticated' })['backendCount'], 2);
});

covers('status.backend-count', 'status.backend-count.excludes-degraded', 'status.backend-count.excludes-unknown');
test('unavailable, degraded and unknown backends are listed and not counted', () => {
  for (const down of ['unavailable', 'degraded', 'unknown'] as const) {
    const status = statusWith({ a: 'ready', b: down });
    assert.equal(status['backendCount'], 1, down);
    assert.equal((status['discoveredBackends'] as readonly unknown[]).length, 2);
    assert.equal(status['phase'], 'Degraded');
  }
});

covers('health.status-reporting.default', 'health.status-reporting.custom');
test('the pods are asked at the interval of the spec, every 30 s where it names none', () => {
  const asked = (failureHandling: object): number | undefined =>
    planOf({ objects: [server({ config: { operational: { failureHandling } } }), group()] }).statusPollIntervalMs;
  assert.equal(asked({}), 30_000);
  assert.equal(asked({ statusReportingInterval: '1m30s' }), 90_000);
});

for (const [state, reason] of [
  ['down', 'NoAnswer'],
  ['refusing', 'CommandsRefused'],
  ['up', undefined],
] as const) {
  test(`a session store that is ${state} for a pod ${reason ? `is reported as ${reason}` : 'needs no word'}`, () => {
    const sessionStore = { state, since: '2026-01-01T00:00:00.000Z', ...(reason && { reason: 'OOM no room' }) };
    const plan = planOf({
      objects: [server(), group(), entry('a'), availableDeployment],
      reports: new Map([
        ['pod-a', report({ a: 'ready' })],
        ['pod-b', { ...report({ a: 'ready' }), sessionStore }],
      ]),
    });
    const told = condition(plan, 'SessionStoreAway');
    assert.equal(told?.reason, reason);
    if (reason) assert.match(told?.message ?? '', /: pod pod-b: OOM no room;/);
  });
}

for (const [state, reason] of [
  ['keys-unusable', 'KeysUnusable'],
  ['store-away', 'NoAnswer'],
  ['up', undefined],
] as const) {
  test(`an authorization server that is ${state} in a pod ${reason ? `is reported as ${reason}` : 'needs no word'}`, () => {
    const authServer = {
      state,
      since: '2026-01-01T00:00:00.000Z',
      ...(reason && { reason: 'signing key 1 is missing' }),
    };
    const plan = planOf({
      objects: [server(), group(), entry('a'), availableDeployment],
      reports: new Map([
        ['pod-a', report({ a: 'ready' })],
        ['pod-b', { ...report({ a: 'ready' }), authServer }],
      ]),
    });
    const told = condition(plan, 'AuthServerUnavailable');
    assert.equal(told?.reason, reason);
    if (reason) assert.match(told?.message ?? '', /: pod pod-b: signing key 1 is missing;/);
  });
}

test('a timeout for a backend that the server does not have is reported', () => {
  const config = { operational: { timeouts: { perWorkload: { a: '1s', nope: '1s' } } } };
  const told = condition(planOf({ objects: [server({ config }), group(), entry('a')] }), 'UnknownWorkload');
  assert.match(
    told?.message ?? '',
    /^outgoingAuth\.backends, config\.aggregation, config\.operational\.timeouts or config\.extensions names nope, which/,
  );
});

covers('status.discovered.list', 'status.discovered.url');
covers('status.discovered.name-required');
test('every member of the group is listed with its name and url, members of other groups are not', () => {
  const stranger = entry('stranger', { groupRef: { name: 'others' } });
  const { status } = planOf({ objects: [server(), group(), entry('beta'), entry('alpha'), stranger] });
  const listed = status?.['discoveredBackends'] as readonly { name: string; url: string }[];
  assert.deepEqual(
    listed.map(({ name, url }) => [name, url]),
    [
      ['alpha', 'http://alpha/mcp'],
      ['beta', 'http://beta/mcp'],
    ],
  );
});

covers('operator.group-ref.must-exist', 'operator.ref.group.same-namespace');
test('a group that is missing, or in another namespace only, is reported and nothing is made', () => {
  for (const objects of [[server()], [server(), group('tools', 'elsewhere')], [server(), group('other')]]) {
    const plan = planOf({ objects });
    assert.equal(statusOf(plan)['phase'], 'Pending');
    assert.equal(condition(plan, 'GroupResolved')?.reason, 'GroupNotFound');
    assert.equal(condition(plan, 'Ready')?.status, 'False');
    assert.deepEqual(plan.objects, undefined);
  }
});

test('a missing group is one piece of bad news, and what its members can do is unknown', () => {
  const plan = planOf({ objects: [server()] });
  assert.deepEqual(
    plan.events.map(({ type, reason }) => [type, reason]),
    [['Warning', 'GroupNotFound']],
  );
  const unknown = ['BackendsDiscovered', 'BackendsRoutable'].map((type) => condition(plan, type)?.status);
  assert.deepEqual(unknown, ['Unknown', 'Unknown']);
});

covers('status.message');
test('every phase but Ready says why', () => {
  assert.match(String(statusOf(planOf({ objects: [server()] }))['message']), /MCPGroup tools/);
  assert.match(String(statusWith({ a: 'unavailable' })['message']), /a \(unavailable\)/);
  const refused = statusOf(
    planOf({ objects: [server({ telemetryConfigRef: { name: 't' }, config: { unknown: 1 } }), group()] }),
  );
  assert.equal(refused['phase'], 'Failed');
  assert.match(String(refused['message']), /unknown/);
});

covers('status.oidc-config-hash.absent', 'status.telemetry-config-hash.absent');
test('hashes of configurations that nothing refers to are absent', () => {
  const status = statusWith({ a: 'ready' });
  assert.equal(Object.hasOwn(status, 'oidcConfigHash'), false);
  assert.equal(Object.hasOwn(status, 'telemetryConfigHash'), false);
});

test('without a circuit breaker a backend shows no circuit', () => {
  const [backend] = statusWith({ a: 'ready' })['discoveredBackends'] as readonly object[];
  assert.deepEqual(Object.keys(backend ?? {}), ['name', 'url', 'status', 'authType', 'consecutiveFailures']);
});

test('facts are there whatever they say, problems only while they exist', () => {
  const types = (plan: ReturnType<typeof planOf>): readonly string[] =>
    (statusOf(plan)['conditions'] as readonly { type: string }[]).map(({ type }) => type);
  const facts = ['Valid', 'GroupResolved', 'BackendsDiscovered', 'BackendsRoutable', 'StatusReachable', 'Ready'];
  assert.deepEqual(types(planOf({ objects: [server()] })), facts);
  assert.deepEqual(types(planOf({ objects: [server({ replicas: 2 }), group()] })), [...facts, 'SessionsNotDurable']);
});

test('a server that waits is no news, one that serves or fails is', () => {
  assert.deepEqual(planOf({ objects: [server(), group(), entry('a')] }).events, []);
  const ready = planOf({ objects: [server(), group(), availableDeployment] });
  assert.deepEqual(
    ready.events.map(({ type, reason }) => [type, reason]),
    [['Normal', 'Serving']],
  );
  const config = { outgoingAuth: { source: 'inline', default: { type: 'obo' } } };
  const failed = planOf({ objects: [server({ config, telemetryConfigRef: { name: 'x' } }), group()] });
  assert.deepEqual(
    failed.events.map(({ type, reason }) => [type, reason]),
    [
      ['Warning', 'NotSupportedYet'],
      ['Warning', 'TelemetryConfigNotFound'],
      ['Warning', 'NothingToServe'],
    ],
  );
});

test('credentials in the url of an entry appear nowhere', () => {
  const plan = planOf({
    objects: [server(), group(), entry('a', { remoteUrl: 'https://me:hunter2@example.com/mcp' })],
  });
  assert.doesNotMatch(JSON.stringify(plan), /hunter2/);
  assert.equal(condition(plan, 'BackendsWithheld')?.reason, 'Invalid');
});

test('what spec overrides in spec.config is reported, what says the same is not', () => {
  const told = (spec: object): string | undefined =>
    condition(planOf({ objects: [server(spec), group()] }), 'ConfigOverridden')?.message;
  const same = { groupRef: 'tools', incomingAuth: { type: 'anonymous' }, sessionStorage: { provider: 'memory' } };
  assert.equal(told({ sessionStorage: { provider: 'memory', db: 0 }, config: same }), undefined);
  assert.equal(told({ outgoingAuth: {}, config: { outgoingAuth: { source: 'discovered' } } }), undefined);
  assert.equal(told({ config: { outgoingAuth: { source: 'inline' } } }), undefined);
  assert.match(
    told({ config: { groupRef: 'others' } }) ?? '',
    /spec\.groupRef takes precedence over spec\.config\.groupRef/,
  );
  assert.match(told({ config: { incomingAuth: { type: 'local' } } }) ?? '', /spec\.config\.incomingAuth/);
  assert.match(told({ outgoingAuth: {}, config: { outgoingAuth: { source: 'inline' } } }) ?? '', /outgoingAuth/);
});

for (const source of ['inline', 'discovered']) {
  test(`credentials in a url of config.backends appear nowhere and refuse the spec, source ${source}`, () => {
    const backends = [{ name: 'a', url: 'https://me:hunter2@example.com/mcp', transport: 'streamable-http' }];
    const plan = planOf({ objects: [server({ outgoingAuth: { source }, config: { backends } }), group()] });
    assert.doesNotMatch(JSON.stringify(plan), /hunter2/);
    assert.match(condition(plan, 'Valid')?.message ?? '', /^spec\.config\.backends\[0\]\.url: holds credentials; /);
    assert.equal(plan.objects, undefined);
  });
}

test('what the schema of the runtime refuses and no CRD can say is told before anything is made', () => {
  const config = { operational: { timeouts: { default: '0s' } } };
  const plan = planOf({ objects: [server({ config }), group()] });
  assert.equal(condition(plan, 'Valid')?.reason, 'Invalid');
  assert.match(condition(plan, 'Valid')?.message ?? '', /^spec\.config\.operational\.timeouts\.default: .*; .*/);
  assert.equal(statusOf(plan)['phase'], 'Failed');
  assert.equal(plan.objects, undefined);
});

test('no config, however wrong, stops the plan: it is refused or served, and status says which', () => {
  const section = fc.constantFrom(
    'operational',
    'aggregation',
    'audit',
    'telemetry',
    'rateLimiting',
    'extensions',
    'name',
  );
  fc.assert(
    fc.property(fc.dictionary(section, fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true }), (config) => {
      const plan = planOf({ objects: [server({ config }), group(), entry('a')] });
      assert.equal(plan.objects === undefined, condition(plan, 'Valid')?.status === 'False');
    }),
    { numRuns: 200, examples: [[{ operational: { valueOf: {}, toString: false } }]] },
  );
});

for (const text of ['backends: 5', 'backends: [null]', 'backends: [{ name: a }]', 'withheld: {}', '[]', ': {']) {
  test(`a kept backends.yaml that another writer changed into ${text} stops no plan`, () => {
    const kept: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...planned(planOf({ objects: [server(), group()] }), 'ConfigMap').metadata, ...ownedByServer },
      data: {
        'accepted.json': JSON.stringify({ spec: server()['spec'] }),
        'accepted.seal': 'sealed',
        'files.seal': 'sealed',
        'backends.yaml': text,
      },
    };
    const plan = planOf({ objects: [server(), availableDeployment, kept] });
    assert.deepEqual([statusOf(plan)['phase'], statusOf(plan)['discoveredBackends']], ['Degraded', []]);
  });
}
