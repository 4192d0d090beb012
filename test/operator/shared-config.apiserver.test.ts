import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { covers } from '../requirements.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { type StatusUnderTest, conditionIn, made, verdictIn } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';

const cluster = clusterUnderTest(servers);
const { kubectl, remove, untilStatus, untilQuiet, writesDuring } = cluster;
const apply = (...object: Parameters<typeof made>): Promise<unknown> => cluster.apply(made(...object));

before(async () => {
  await cluster.ready();
  await apply('MCPGroup', 'tools', {});
});

const secret = { name: 'api', key: 'token' };
const base = { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } };
const oidcRef = { oidcConfigRef: { name: 'oidc', audience: 'a' } };
const tools = { workload: 'a', toolConfigRef: { name: 'renames' } };
const step = { id: 'a', type: 'tool', tool: 'x.y' };
const collector = { enabled: true, endpoint: 'collector:4318', tracing: { enabled: true } };
const entrySpec = { groupRef: { name: 'tools' }, remoteUrl: 'http://a.example.com/mcp', transport: 'streamable-http' };

interface Case {
  readonly kind: string;
  readonly name: string;
  readonly good: object;
  readonly changed: object;
  readonly bad: object;
  readonly complaint: RegExp;
  /** Workloads that name it, in the order in which they are listed. */
  readonly workloads: readonly (readonly [kind: string, name: string, spec: object])[];
}

const CASES: readonly Case[] = [
  {
    kind: 'MCPOIDCConfig',
    name: 'oidc',
    good: { type: 'inline', inline: { issuer: 'https://idp.example.com' } },
    changed: { type: 'inline', inline: { issuer: 'https://other.example.com' } },
    bad: { type: 'inline', inline: { issuer: 'http://idp.example.com' } },
    complaint: /^spec\.inline\.issuer: .*; use https/,
    workloads: [
      ['MCPRemoteProxy', 'proxy', { remoteUrl: 'http://a.example.com/mcp', ...oidcRef }],
      ['MCPServer', 'server', { image: 'a', ...oidcRef }],
      ['VirtualMCPServer', 'gateway', { ...base, incomingAuth: { type: 'oidc', ...oidcRef } }],
    ],
  },
  {
    kind: 'MCPExternalAuthConfig',
    name: 'login',
    good: { type: 'bearerToken', bearerToken: { tokenSecretRef: secret } },
    changed: { type: 'unauthenticated' },
    bad: { type: 'headerInjection', headerInjection: { headerName: 'Host', valueSecretRef: secret } },
    complaint: /^spec\.headerInjection\.headerName: Host belongs/,
    workloads: [
      ['MCPRemoteProxy', 'proxy', { remoteUrl: 'http://a.example.com/mcp', externalAuthConfigRef: { name: 'login' } }],
      ['MCPServer', 'server', { image: 'a', ...oidcRef, authServerRef: { name: 'login' } }],
      [
        'VirtualMCPServer',
        'gateway',
        {
          ...base,
          outgoingAuth: {
            backends: { a: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'login' } } },
          },
        },
      ],
    ],
  },
  {
    kind: 'MCPTelemetryConfig',
    name: 'otel',
    good: { openTelemetry: collector },
    changed: { prometheus: { enabled: true } },
    bad: { openTelemetry: { ...collector, headers: { Authorization: 'Bearer x' } } },
    complaint: /would put a secret into the resource/,
    workloads: [['VirtualMCPServer', 'gateway', { ...base, telemetryConfigRef: { name: 'otel' } }]],
  },
  {
    kind: 'MCPToolConfig',
    name: 'renames',
    good: { toolsOverride: { a: { name: 'b' } } },
    changed: { toolsFilter: ['a'] },
    bad: { toolsOverride: { a: { name: 'x' }, b: { name: 'x' } } },
    complaint: /^spec\.toolsOverride\["b"\]\.name: x is what a is called too/,
    workloads: [['VirtualMCPServer', 'gateway', { ...base, config: { aggregation: { tools: [tools] } } }]],
  },
];

for (const { kind, name, good, changed, bad, complaint, workloads } of CASES) {
  describe(kind, () => {
    covers('extauth.status.conditions', 'extauth.status.observed-generation', 'extauth.status.config-hash');
    test('says that it is valid, and a hash that follows its spec', async () => {
      await apply(kind, name, good);
      const first = await untilStatus('a status', [kind, name], ({ configHash }) => configHash !== undefined);
      assert.equal(verdictIn(first, 'Valid'), 'True Valid');
      assert.deepEqual([first.referenceCount, first.referencingWorkloads], [0, []]);
      await apply(kind, name, changed);
      const second = await untilStatus(
        'another hash',
        [kind, name],
        (status) => status.configHash !== first.configHash,
      );
      assert.match(second.configHash ?? '', /^[0-9a-f]{16}$/);
      await apply(kind, name, good);
      await untilStatus('the first hash', [kind, name], ({ configHash }) => configHash === first.configHash);
    });

    covers('extauth.status.reference-count', 'extauth.status.referencing-workloads');
    test('counts and lists who names it, as they come and go', async () => {
      for (const workload of workloads) await apply(...workload);
      const status = await untilStatus('all of them', [kind, name], (each) => each.referenceCount === workloads.length);
      assert.deepEqual(
        status.referencingWorkloads,
        workloads.map(([user, called]) => ({ kind: user, name: called })),
      );
      for (const [user, called] of workloads) await remove(user, called);
      await untilStatus('none of them', [kind, name], ({ referenceCount }) => referenceCount === 0);
    });

    test('what no CRD can refuse is reported, once, with an event', async () => {
      await apply(kind, name, bad);
      const status = await untilStatus('the condition', [kind, name], (each) =>
        (verdictIn(each, 'Valid') ?? '').startsWith('False'),
      );
      assert.match(conditionIn(status, 'Valid')?.message ?? '', complaint);
      await apply(kind, name, good);
      await untilStatus('it to be mended', [kind, name], (each) => verdictIn(each, 'Valid') === 'True Valid');
      await untilQuiet();
      const list = await kubectl(['get', 'events.events.k8s.io', '-o', 'json']);
      const { items } = JSON.parse(list) as { items: readonly { reason: string; regarding: { name: string } }[] };
      const told = items.filter(({ reason, regarding }) => regarding.name === name && reason === 'Invalid');
      assert.equal(told.length, 1);
    });
  });
}

covers('operator.secretref.same-namespace');
test('a Secret that it names is reported when missing, and found when it comes, in its own namespace', async () => {
  await apply('MCPExternalAuthConfig', 'login', CASES[1]?.good ?? {});
  const told = (wanted: string) =>
    untilStatus(wanted, ['MCPExternalAuthConfig', 'login'], (status) => verdictIn(status, 'SecretResolved') === wanted);
  await kubectl(['create', 'secret', 'generic', 'api', '-n', 'vmcp-system', '--from-literal=token=x']);
  await told('False SecretNotFound');
  await kubectl(['create', 'secret', 'generic', 'api', '--from-literal=token=x']);
  await told('True SecretFound');
  await remove('secret', 'api');
  await told('False SecretNotFound');
});

test('a workflow that goes in circles is reported, and its servers are listed', async () => {
  const kind = 'VirtualMCPCompositeToolDefinition';
  const workflow = (...steps: readonly object[]) => ({ name: 'flow', steps });
  await apply(kind, 'flow', workflow({ ...step, dependsOn: ['a'] }));
  const bad = await untilStatus('Invalid', [kind, 'flow'], ({ validationStatus }) => validationStatus === 'Invalid');
  assert.match(bad.validationErrors?.[0] ?? '', /^spec\.steps\[0\]\.dependsOn\[0\]: "a" waits for itself; /);
  assert.equal(verdictIn(bad, 'Ready'), 'False WorkflowNotReady');
  await apply(kind, 'flow', workflow(step));
  const good = await untilStatus('Valid', [kind, 'flow'], ({ validationStatus }) => validationStatus === 'Valid');
  assert.deepEqual([verdictIn(good, 'Ready'), good.validationErrors], ['True WorkflowReady', []]);
  await apply('VirtualMCPServer', 'gateway', { ...base, config: { compositeToolRefs: [{ name: 'flow' }] } });
  await untilStatus(
    'its user',
    [kind, 'flow'],
    ({ referencingVirtualServers = [] }) => referencingVirtualServers.join() === 'gateway',
  );
  await remove('VirtualMCPServer', 'gateway');
  await untilStatus(
    'no user',
    [kind, 'flow'],
    ({ referencingVirtualServers = [] }) => referencingVirtualServers.length === 0,
  );
});

covers('status.oidc-config-hash', 'status.oidc-config-hash.follows-change', 'operator.ref.oidc-config.same-namespace');
test('a server follows the MCPOIDCConfig that it names: missing, there, changed, invalid, gone', async () => {
  const gateway = ['VirtualMCPServer', 'gateway'] as const;
  const oidc = (issuer: string) => apply('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer } });
  const incomingAuth = { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'a' } };
  const resolved = (wanted: string) =>
    untilStatus(wanted, gateway, (status) => verdictIn(status, 'OIDCConfigResolved') === wanted);
  await apply('VirtualMCPServer', 'gateway', { ...base, incomingAuth });
  await cluster.apply({
    ...made('MCPOIDCConfig', 'idp', { type: 'clusterServiceAccount', clusterServiceAccount: {} }),
    metadata: { name: 'idp', namespace: 'vmcp-system' },
  });
  const missing = await resolved('False OIDCConfigNotFound');
  assert.notEqual(missing.phase, 'Ready');
  assert.equal(missing.oidcConfigHash, undefined);
  await oidc('https://idp.example.com');
  const { oidcConfigHash: first } = await resolved('True OIDCConfigFound');
  const config = await untilStatus('its hash', ['MCPOIDCConfig', 'idp'], ({ configHash }) => configHash !== undefined);
  assert.equal(first, config.configHash);
  await oidc('https://other.example.com');
  await untilStatus('another hash', gateway, ({ oidcConfigHash }) => oidcConfigHash !== first);
  await oidc('http://other.example.com');
  await resolved('False OIDCConfigInvalid');
  await remove('MCPOIDCConfig', 'idp');
  await resolved('False OIDCConfigNotFound');
  await apply('VirtualMCPServer', 'gateway', base);
  await untilStatus('no hash', gateway, (status) => status.oidcConfigHash === undefined);
  await remove('VirtualMCPServer', 'gateway');
});

test('an entry tells of everything that it names', async () => {
  const named = ['MCPServerEntry', 'named'] as const;
  await remove('MCPExternalAuthConfig', 'login');
  await apply('MCPServerEntry', 'named', {
    ...entrySpec,
    externalAuthConfigRef: { name: 'login' },
    headerForward: { addHeadersFromSecret: [{ headerName: 'X-Key', valueSecretRef: { name: 'headers', key: 'k' } }] },
    caBundleRef: { configMapRef: { name: 'authorities', key: 'ca.crt' } },
  });
  const types = ['GroupResolved', 'ExternalAuthConfigResolved', 'SecretResolved', 'ConfigMapResolved'];
  const told = (status: StatusUnderTest): readonly unknown[] => types.map((type) => verdictIn(status, type));
  const missing = await untilStatus('a status', named, ({ conditions = [] }) => conditions.length > 0);
  assert.deepEqual(told(missing), [
    'True GroupFound',
    'False ExternalAuthConfigNotFound',
    'False SecretNotFound',
    'False ConfigMapNotFound',
  ]);
  await kubectl(['create', 'secret', 'generic', 'headers', '--from-literal=k=v']);
  await kubectl(['create', 'configmap', 'authorities', '--from-literal=ca.crt=x']);
  await apply('MCPExternalAuthConfig', 'login', { type: 'unauthenticated' });
  await untilStatus('everything', named, (status) => told(status).every((each) => String(each).startsWith('True')));
  const config = await untilStatus('its status', ['MCPExternalAuthConfig', 'login'], () => true);
  assert.deepEqual([config.referenceCount, config.referencingWorkloads], [0, []]);
  await remove('MCPServerEntry', 'named');
});

test('an entry that moves to another group leaves the one and joins the other', async () => {
  await apply('MCPGroup', 'others', {});
  await apply('MCPServerEntry', 'mover', entrySpec);
  const members = (group: string, wanted: readonly string[]) =>
    untilStatus(
      `${group}: ${wanted.join()}`,
      ['MCPGroup', group],
      ({ entries = [] }) => entries.join() === wanted.join(),
    );
  await members('tools', ['mover']);
  await members('others', []);
  await apply('MCPServerEntry', 'mover', { ...entrySpec, groupRef: { name: 'others' } });
  await members('tools', []);
  await members('others', ['mover']);
});

test('nothing is written at rest, nor by an operator that starts anew', async () => {
  for (const { workloads } of CASES) for (const workload of workloads) await apply(...workload);
  await untilQuiet(3000);
  assert.deepEqual(await writesDuring(cluster.restartOperator, 5000), []);
});

test('no reconcile failed and no watch was interrupted on the way', () => {
  assert.deepEqual(
    cluster.operator.log.filter(({ level }) => level !== 'info'),
    [],
  );
});
