import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import type { KubeObject } from '../../operator/object.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { made, verdictIn } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';
import { everythingBuilt } from './plan/golden.ts';
import { authServer, oidc } from './validate/cases.ts';

const cluster = clusterUnderTest({ ...servers, kinds: reconciledKinds(everythingBuilt()) });

const PROXY = ['mcpremoteproxy', 'search'] as const;
const CHILD = 'mcpremoteproxy-search';
const proxy = (spec: object = {}): object =>
  made('MCPRemoteProxy', 'search', {
    remoteUrl: 'https://search.example.com/mcp',
    groupRef: { name: 'tools' },
    ...spec,
  });

/** What the pods of today's template read. */
const filesNow = async (child = CHILD): Promise<Readonly<Record<string, string>>> => {
  const { spec } = (await cluster.get('deployment', child)) as KubeObject & {
    readonly spec: { readonly template: { readonly spec: { readonly volumes: readonly Volume[] } } };
  };
  const name = spec.template.spec.volumes.find((volume) => volume.name === 'vmcp-config')?.configMap?.name ?? '';
  return (await cluster.get('configmap', name))['data'] as Readonly<Record<string, string>>;
};

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
}

const untilFile = (file: string, words: RegExp): Promise<true> =>
  until(`${file} to say ${words.source}`, async () => (words.test((await filesNow())[file] ?? '') ? true : undefined));

test('a proxy has its children, and a VirtualMCPServer over its group contacts its Service', async () => {
  await cluster.apply(
    made('VirtualMCPServer', 'gateway', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } }),
    made('MCPGroup', 'tools', {}),
    proxy(),
  );
  const status = await cluster.untilStatus('the proxy', PROXY, ({ url }) => url !== undefined);
  assert.equal(status.url, `http://${CHILD}.default.svc.cluster.local:8080/mcp`);
  await until('the Deployment', () => cluster.get('deployment', CHILD));
  for (const kind of ['service', 'serviceaccount', 'deployment']) {
    const { metadata } = await cluster.get(kind, CHILD);
    assert.equal(metadata.ownerReferences?.[0]?.kind, 'MCPRemoteProxy');
    assert.equal(metadata.labels?.['app.kubernetes.io/component'], 'mcpremoteproxy');
  }
  const { spec } = await cluster.get('service', CHILD);
  assert.deepEqual((spec as { readonly ports: readonly object[] }).ports, [
    { name: 'http', port: 8080, targetPort: 'http', protocol: 'TCP', appProtocol: 'http' },
  ]);
  await until('the server to know it', async () => {
    const { 'backends.yaml': text = '' } = await filesNow('vmcp-gateway');
    const { backends = [] } = parse(text) as { readonly backends?: readonly { readonly url: string }[] };
    return backends.some(({ url }) => url === status.url) ? true : undefined;
  });
});

test('what it refers to takes effect when it comes, changes and goes', async () => {
  await cluster.apply(
    proxy({ externalAuthConfigRef: { name: 'login' }, oidcConfigRef: { name: 'idp', audience: 'a' } }),
  );
  const waiting = await cluster.untilStatus(
    'the missing issuer',
    PROXY,
    (status) => verdictIn(status, 'OIDCConfigResolved')?.startsWith('False') === true,
  );
  assert.equal(verdictIn(waiting, 'ExternalAuthConfigResolved'), 'False ExternalAuthConfigNotFound');
  assert.match((await filesNow())['config.yaml'] ?? '', /type: anonymous/);

  await cluster.apply(made('MCPOIDCConfig', 'idp', oidc({})));
  await untilFile('config.yaml', /issuer: https:\/\/idp\.example\.com/);
  // Without its credential the remote server is not contacted.
  await untilFile('backends.yaml', /^withheld:/m);
  const { oidcConfigHash } = await cluster.untilStatus(
    'the hash',
    PROXY,
    (status) => status['oidcConfigHash'] !== undefined,
  );

  await cluster.apply(
    made('MCPExternalAuthConfig', 'login', {
      type: 'bearerToken',
      bearerToken: { tokenSecretRef: { name: 'api', key: 'token' } },
    }),
    made('MCPOIDCConfig', 'idp', oidc({ issuer: 'https://other.example.com' })),
  );
  await untilFile('backends.yaml', /tokenFile: \/etc\/vmcp\/secrets\/api\/token/);
  await untilFile('config.yaml', /issuer: https:\/\/other\.example\.com/);
  await cluster.untilStatus('another hash', PROXY, (status) => status['oidcConfigHash'] !== oidcConfigHash);

  await cluster.remove('mcpexternalauthconfig', 'login');
  await untilFile('backends.yaml', /^withheld:/m);
  await cluster.remove('mcpoidcconfig', 'idp');
  await cluster.untilStatus(
    'the last good spec',
    PROXY,
    (status) => verdictIn(status, 'OIDCConfigResolved') === 'False OIDCConfigNotFound',
  );
  assert.match((await filesNow())['config.yaml'] ?? '', /issuer: https:\/\/other\.example\.com/);
});

test('an embedded server of the wrong type is reported, and what serves goes on', async () => {
  await cluster.apply(
    made('MCPOIDCConfig', 'idp', oidc({ issuer: 'https://auth.example.com' })),
    made('MCPExternalAuthConfig', 'own', { type: 'unauthenticated' }),
    proxy({ authServerRef: { name: 'own' }, oidcConfigRef: { name: 'idp', audience: 'a' } }),
  );
  await cluster.untilStatus('the complaint', PROXY, (status) => verdictIn(status, 'Valid') === 'False Invalid');
  await cluster.apply(
    made('MCPExternalAuthConfig', 'own', { type: 'embeddedAuthServer', embeddedAuthServer: authServer({}) }),
  );
  await cluster.untilStatus('the server', PROXY, (status) => verdictIn(status, 'Valid') === 'True Valid');
  await untilFile('config.yaml', /^authServer:/m);
});

test('at rest nothing is written, drift is repaired, and a new operator writes nothing', async () => {
  const touched = await cluster.writesDuring(() => cluster.kubectl(['annotate', ...PROXY, 'touched=1']));
  assert.deepEqual(touched, []);
  const repaired = await cluster.writesDuring(() =>
    cluster.patch(['service', CHILD], 'json', [{ op: 'replace', path: '/spec/ports/0/port', value: 80 }]),
  );
  assert.ok(repaired.every((write) => write === `patch services ${CHILD}`) && repaired.length > 0, repaired.join());
  assert.deepEqual(await cluster.writesDuring(cluster.restartOperator), []);
});

test('a Service with another owner leaves nothing to reach: Failed, without a URL', async () => {
  await cluster.kubectl(['create', 'service', 'clusterip', 'mcpremoteproxy-taken', '--tcp=80']);
  await cluster.apply(made('MCPRemoteProxy', 'taken', { remoteUrl: 'https://search.example.com/mcp' }));
  const status = await cluster.untilStatus(
    'the conflict',
    ['mcpremoteproxy', 'taken'],
    (each) => verdictIn(each, 'ChildConflict') === 'True ChildConflict',
  );
  assert.deepEqual([status.phase, status.url], ['Failed', undefined]);
});
