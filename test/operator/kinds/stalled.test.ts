import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { type ReportedCondition, conditionsIn } from '../../../operator/plan/conditions.ts';
import { embedded, oidc } from '../plan/fronted-server-objects.ts';
import { made } from '../plan/made.ts';
import { group } from '../plan/plan-of-demo.ts';
import { kstatusOf } from './kstatus.ts';
import { oddCluster } from './odd-cluster.ts';

type Cluster = ReturnType<typeof oddCluster>;

const asked = async (cluster: Cluster, spec: object, refusing: readonly string[] = []): Promise<void> => {
  cluster.ask(spec, refusing);
  await cluster.settle();
};

const condition = (cluster: Cluster, type: string): ReportedCondition | undefined =>
  conditionsIn(cluster.server()['status']).find((each) => each.type === type);

const virtualServer = { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } };
const INVALID = { podTemplateSpec: { spec: { containers: 5 } } };

const issuedBy = (name: string): KubeObject =>
  made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: `https://${name}.example.com` } });
const proxy = { remoteUrl: 'https://mcp.example/mcp', ...oidc };

/** Right by itself, and wrong beside what is there before the other half of one `kubectl apply`. */
const TOGETHER: Readonly<Record<string, readonly [spec: object, before: readonly KubeObject[]]>> = {
  'an issuer that is not that of its authorization server': [
    { ...proxy, authServerRef: { kind: 'MCPExternalAuthConfig', name: 'own' } },
    [issuedBy('other'), embedded({ issuer: 'https://auth.example.com' })],
  ],
  'an issuer of the cluster that nobody knows yet': [
    proxy,
    [made('MCPOIDCConfig', 'idp', { type: 'clusterServiceAccount', clusterServiceAccount: {} })],
  ],
};

for (const [why, [spec, before]] of Object.entries(TOGETHER)) {
  test(`${why}: refused, and InProgress, for another object may mend it`, async () => {
    const cluster = oddCluster('MCPRemoteProxy');
    for (const each of before) cluster.put(each);
    await asked(cluster, spec);
    const valid = condition(cluster, 'Valid');
    assert.equal(valid?.status, 'False', JSON.stringify(cluster.server()['status']));
    assert.equal(kstatusOf(cluster.server()), 'InProgress');
  });

  test(`${why}, beside what only its author can mend: Failed, because of that alone`, async () => {
    const cluster = oddCluster('MCPRemoteProxy');
    for (const each of before) cluster.put(each);
    await asked(cluster, { ...spec, ...INVALID });
    const stalled = condition(cluster, 'Stalled');
    assert.match(`${stalled?.reason} ${stalled?.message}`, /^Invalid spec\.podTemplateSpec[^;]*;[^;]*$/);
  });
}

for (const [answer, status, reason, says] of [
  ['breaks a rule', 422, 'Invalid', 'Failed'],
  ['cannot be read', 400, 'BadRequest', 'Failed'],
  ['is denied by a webhook that gives no code', 400, undefined, 'InProgress'],
  ['is denied by a webhook with 403', 403, undefined, 'InProgress'],
] as const) {
  test(`a child that ${answer}: ${says}`, async () => {
    const cluster = oddCluster('VirtualMCPServer');
    cluster.put(group());
    cluster.ask(virtualServer, ['Deployment'], { status, ...(reason && { reason }) });
    await cluster.settle();
    assert.equal(kstatusOf(cluster.server()), says);
  });
}

test('Stalled tells every cause: what is wrong with the spec, and which children are', async () => {
  const cluster = oddCluster('EmbeddingServer');
  const cache = (size: string): object => ({ modelCache: { enabled: true, size } });
  await asked(cluster, cache('1Gi'));
  await asked(cluster, cache('2Gi'), ['Service']);
  cluster.objects.delete('Service/default/embeddingserver-weather');
  await cluster.settle();
  const all = conditionsIn(cluster.server()['status']).filter(({ type }) => type === 'Stalled');
  assert.deepEqual(
    all.map(({ reason }) => reason),
    ['VolumesExist'],
  );
  assert.match(all[0]?.message ?? '', /^volumes cannot change: .*; Service.*embeddingserver-weather: /);
});

for (const [reason, service] of [
  ['ChildConflict', 'vmcp-weather'],
  ['ChildRefused', 'another'],
] as const) {
  test(`Stalled by a child has the reason ${reason}`, async () => {
    const cluster = oddCluster('VirtualMCPServer');
    cluster.put(group());
    cluster.put({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: service, namespace: 'default', uid: 'theirs' },
    });
    await asked(cluster, virtualServer, ['Service']);
    const stalled = condition(cluster, 'Stalled');
    assert.equal(stalled?.reason, reason);
    assert.match(stalled.message, /^Service/);
  });
}
