import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import { mountedConfigMap } from '../../operator/plan/server/pod-template.ts';
import type { KubeObject } from '../../operator/object.ts';
import { startControlPlane, until } from '../cluster/index.ts';
import type { ControlPlane } from '../cluster/index.ts';
import {
  type OperatorUnderTest,
  countedWrites,
  installOperator,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';
import { everythingBuilt } from './plan/golden.ts';

/** As if the runtime could do all that is rendered for it: how it reaches the cluster is what is looked at here. */
const built = { ...servers, kinds: reconciledKinds(everythingBuilt()) };

let cluster: ControlPlane;
let operator: OperatorUnderTest | undefined;

const apply = (...items: readonly object[]): Promise<string> =>
  cluster.kubectl(
    ['apply', '--server-side', '--force-conflicts', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
const made = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name },
  spec,
});
const configMap = (name: string, data: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const document = (policy: string): object => ({
  'authz.json': JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies: [policy] } }),
});
const get = async (kind: string, name: string): Promise<KubeObject> =>
  JSON.parse(await cluster.kubectl(['get', kind, name, '-o', 'json'])) as KubeObject;

interface Config {
  readonly incomingAuth: {
    readonly oidc: {
      readonly issuer: string;
      readonly issuerKeys: { readonly keys: readonly { readonly kid: string }[] };
    };
    readonly authz: { readonly policies: readonly string[] };
  };
}

/** What the pods of the server are told now. */
const configOf = async (name: string): Promise<Config> => {
  const { data } = await get('configmap', mountedConfigMap(await get('deployment', `vmcp-${name}`)) ?? '');
  return parse((data as Readonly<Record<string, string>>)['config.yaml'] ?? '') as Config;
};

const policiesOf = async (name: string, wanted: string): Promise<Config> =>
  until(`policy ${wanted}`, async () => {
    const config = await configOf(name);
    return config.incomingAuth.authz.policies[0] === wanted ? config : undefined;
  });

before(async () => {
  cluster = await startControlPlane();
  operator = await startOperatorUnderTest(await installOperator(cluster, built), built);
  await operator.synced;
  await apply(
    made('MCPOIDCConfig', 'cluster', { type: 'clusterServiceAccount', clusterServiceAccount: {} }),
    made('MCPGroup', 'tools', {}),
    configMap('policies', document('first')),
    made('VirtualMCPServer', 'guarded', {
      groupRef: { name: 'tools' },
      incomingAuth: {
        type: 'oidc',
        oidcConfigRef: { name: 'cluster', audience: 'guarded' },
        authzConfig: { configMap: { name: 'policies' } },
      },
    }),
  );
  await until('the server', () => get('deployment', 'vmcp-guarded'));
  await untilQuiet(cluster);
});
after(async () => {
  await operator?.stop();
  await cluster.stop();
});

test("issuer and keys of the cluster's service accounts are those of the API server", async () => {
  const { oidc } = (await configOf('guarded')).incomingAuth;
  const discovery = JSON.parse(await cluster.kubectl(['get', '--raw', '/.well-known/openid-configuration'])) as {
    readonly issuer: string;
  };
  const { keys } = JSON.parse(await cluster.kubectl(['get', '--raw', '/openid/v1/jwks'])) as {
    readonly keys: readonly object[];
  };
  assert.equal(oidc.issuer, discovery.issuer);
  assert.ok(keys.length > 0);
  assert.deepEqual(oidc.issuerKeys.keys, keys);
});

test('policies follow their ConfigMap without new pods, and stay when it is deleted', async () => {
  await policiesOf('guarded', 'first');
  const before = mountedConfigMap(await get('deployment', 'vmcp-guarded'));
  await apply(configMap('policies', document('second')));
  await policiesOf('guarded', 'second');
  await cluster.kubectl(['delete', 'configmap', 'policies']);
  await until('the condition', async () => {
    const { status } = await get('virtualmcpserver', 'guarded');
    const { conditions = [] } = status as { readonly conditions?: readonly { type: string; reason: string }[] };
    return conditions.some(({ reason }) => reason === 'ConfigMapNotFound') ? true : undefined;
  });
  await policiesOf('guarded', 'second');
  assert.equal(mountedConfigMap(await get('deployment', 'vmcp-guarded')), before);
  await apply(configMap('policies', document('third')));
  await policiesOf('guarded', 'third');
});

test('what backends need is mounted, and then nothing is written', async () => {
  await apply(
    configMap('authorities', { 'ca.pem': 'certificates' }),
    made('MCPExternalAuthConfig', 'bearer', {
      type: 'bearerToken',
      bearerToken: { tokenSecretRef: { name: 'api', key: 'token' } },
    }),
    made('MCPServerEntry', 'remote', {
      groupRef: { name: 'tools' },
      remoteUrl: 'https://remote.example/mcp',
      transport: 'streamable-http',
      externalAuthConfigRef: { name: 'bearer' },
      caBundleRef: { configMapRef: { name: 'authorities', key: 'ca.pem' } },
    }),
  );
  const volumes = await until('the volumes', async () => {
    const { spec } = await get('deployment', 'vmcp-guarded');
    const { template } = spec as {
      readonly template: { readonly spec: { readonly volumes: readonly { readonly name: string }[] } };
    };
    const ours = template.spec.volumes.filter(({ name }) => /secrets|bundles/.test(name));
    return ours.length === 2 ? ours : undefined;
  });
  assert.deepEqual(
    volumes.map((volume) => (volume as unknown as { projected: { sources: unknown } }).projected.sources),
    [
      [{ secret: { name: 'api', items: [{ key: 'token', path: 'api/token' }], optional: true } }],
      [{ configMap: { name: 'authorities', items: [{ key: 'ca.pem', path: 'remote/ca.crt' }], optional: true } }],
    ],
  );
  await untilQuiet(cluster);
  const count = (await countedWrites(cluster)).length;
  await cluster.kubectl(['annotate', 'virtualmcpserver', 'guarded', 'looked=again']);
  await cluster.kubectl(['create', 'secret', 'generic', 'api', '--from-literal=token=s3cr3t']);
  await untilQuiet(cluster);
  const written = (await countedWrites(cluster)).slice(count);
  assert.deepEqual(
    written.filter(({ resource }) => resource !== 'virtualmcpservers' && resource !== 'mcpexternalauthconfigs'),
    [],
  );
  const everything = await cluster.kubectl(['get', 'configmaps,deployments,virtualmcpservers', '-A', '-o', 'json']);
  assert.ok(!everything.includes('s3cr3t'));
});
