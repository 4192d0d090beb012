import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import { mountedConfigMap } from '../../operator/plan/server/objects/pod-template.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest, quickstart } from './engine/cluster-under-test.ts';
import { conditionIn, made, madeServer, refuseNodePorts } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';
import { everythingBuilt } from './plan/golden.ts';

/** As if the runtime could do all that is rendered for it: how it reaches the cluster is what is looked at here. */
const cluster = clusterUnderTest({ ...servers, kinds: reconciledKinds(everythingBuilt()) });
const { kubectl, get, apply, patch, remove, childrenOf, untilStatus, untilQuiet, writesDuring } = cluster;
const vmcp = ['vmcp', 'quickstart'] as const;
const service = ['service', 'vmcp-quickstart'] as const;
const assertAtRest = () => cluster.assertAtRest(...vmcp);

before(async () => {
  await cluster.ready();
  await kubectl(['apply', '--server-side', '-f', quickstart]);
  await until('the children', () => get('deployment', 'vmcp-quickstart'));
  await untilQuiet();
});

interface ServiceSpec {
  readonly type: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly nodePort?: number }[];
}

const serviceSpec = async (): Promise<ServiceSpec> => (await get(...service))['spec'] as ServiceSpec;

test('a Service whose port was renumbered by hand is put right; what others noted on it stays', async () => {
  await kubectl(['annotate', ...service, 'team=blue']);
  await kubectl(['label', ...service, 'team=blue']);
  await patch(service, 'json', [{ op: 'replace', path: '/spec/ports/0/port', value: 80 }]);
  await until('the port', async () => ((await serviceSpec()).ports[0]?.port === 4483 ? true : undefined));
  assert.equal((await serviceSpec()).ports.length, 1);
  await assertAtRest();
  const { labels, annotations } = (await get(...service)).metadata;
  assert.deepEqual([labels?.['team'], annotations?.['team']], ['blue', 'blue']);
});

test('annotations and labels that the spec asks for come and go; those of others stay, and no pod is rolled', async () => {
  const note = 'external-dns.alpha.kubernetes.io/hostname';
  const template = async () =>
    JSON.stringify(((await get('deployment', 'vmcp-quickstart'))['spec'] as DeploymentSpec).template);
  const [metadata, before] = [async () => (await get(...service)).metadata, await template()];
  await kubectl(['annotate', ...service, 'cloud.example/load-balancer=lb-1']);
  const asked = { annotations: { [note]: 'mcp.example.com', size: 'small' }, labels: { tier: 'edge' } };
  await patch(vmcp, 'merge', { spec: { config: { extensions: { service: asked } } } });
  await until('the label', async () => ((await metadata()).labels?.['tier'] === 'edge' ? true : undefined));
  const { annotations, labels } = await metadata();
  assert.deepEqual([annotations?.[note], annotations?.['size']], ['mcp.example.com', 'small']);
  assert.equal(labels?.['app.kubernetes.io/managed-by'], 'vmcp-operator');
  await assertAtRest();
  await kubectl(['annotate', ...service, `${note}=other.example.com`, '--overwrite']);
  await until('the repair', async () =>
    (await metadata()).annotations?.[note] === 'mcp.example.com' ? true : undefined,
  );
  await patch(vmcp, 'merge', {
    spec: { config: { extensions: { service: { annotations: { [note]: null }, labels: null } } } },
  });
  await until('it to go', async () => (note in ((await metadata()).annotations ?? {}) ? undefined : true));
  const left = await metadata();
  assert.deepEqual([left.annotations?.['size'], left.annotations?.['cloud.example/load-balancer']], ['small', 'lb-1']);
  assert.equal(left.labels?.['tier'], undefined);
  await patch(vmcp, 'merge', { spec: { config: { extensions: null } } });
  await until('the last to go', async () =>
    (await metadata()).annotations?.['size'] === undefined ? true : undefined,
  );
  assert.equal((await metadata()).annotations?.['cloud.example/load-balancer'], 'lb-1');
  assert.equal(await template(), before);
  await assertAtRest();
});

test('one more key in the selector, and one more port, are removed', async () => {
  const { selector } = await serviceSpec();
  await patch(service, 'merge', { spec: { selector: { x: 'y' } } });
  await until('the selector', async () => ('x' in (await serviceSpec()).selector ? undefined : true));
  assert.deepEqual((await serviceSpec()).selector, selector);
  const extra = { name: 'extra', port: 9999, targetPort: 22 };
  await patch(service, 'json', [{ op: 'add', path: '/spec/ports/-', value: extra }]);
  await until('the port to go', async () => ((await serviceSpec()).ports.length === 1 ? true : undefined));
  await assertAtRest();
});

test('the node port that the server gave outlives a repair', async () => {
  await patch(vmcp, 'merge', { spec: { serviceType: 'NodePort' } });
  const given = await until('a node port', async () => (await serviceSpec()).ports[0]?.nodePort);
  await patch(service, 'json', [{ op: 'replace', path: '/spec/ports/0/port', value: 80 }]);
  await until('the port', async () => ((await serviceSpec()).ports[0]?.port === 4483 ? true : undefined));
  assert.equal((await serviceSpec()).ports[0]?.nodePort, given);
  await assertAtRest();
  await patch(vmcp, 'merge', { spec: { serviceType: 'ClusterIP' } });
  await until('no node port', async () => ((await serviceSpec()).ports[0]?.nodePort === undefined ? true : undefined));
});

test('a backend that leaves is gone also while the Service is refused, and the status tells it until it is mended', async () => {
  await refuseNodePorts(cluster);
  await patch(vmcp, 'merge', { spec: { serviceType: 'NodePort' } });
  const status = await untilStatus('the refusal', vmcp, (now) => conditionIn(now, 'ChildRefused') !== undefined);
  assert.match(conditionIn(status, 'ChildRefused')?.message ?? '', /vmcp-quickstart.*exceeded quota/);
  assert.equal(conditionIn(status, 'Ready')?.reason, 'ChildRefused');
  assert.match(status.message ?? '', /exceeded quota/);
  await remove('mcpserverentry', 'playwright');
  await until('the backend to go', async () => {
    const files = (await childrenOf('quickstart', 'configmap')).map(
      (item) => (item['data'] as Readonly<Record<string, string>>)['backends.yaml'] ?? '',
    );
    return files.length > 0 && files.every((text) => !text.includes('playwright')) ? true : undefined;
  });
  await remove('quota', 'none');
  await untilStatus('it to heal', vmcp, (now) => conditionIn(now, 'ChildRefused') === undefined);
  assert.equal((await serviceSpec()).type, 'NodePort');
});

test('every conflict is reported at once; only the Deployment waits, and it comes soon after its account can', async () => {
  await kubectl(['create', 'serviceaccount', 'vmcp-taken']);
  await kubectl(['create', 'service', 'clusterip', 'vmcp-taken', '--tcp=1234']);
  const taken = ['vmcp', 'taken'] as const;
  await apply(madeServer('taken'));
  const status = await untilStatus('the conflicts', taken, (now) => conditionIn(now, 'ChildConflict') !== undefined);
  const { message = '' } = conditionIn(status, 'ChildConflict') ?? {};
  assert.match(message, /ServiceAccount vmcp-taken exists already.*Deployment vmcp-taken waits for it/);
  assert.match(message, /Service vmcp-taken exists already/);
  assert.equal(conditionIn(status, 'Ready')?.reason, 'ChildConflict');
  assert.deepEqual([status.phase, status.message, status.url], ['Failed', message, undefined]);
  const [configMap] = await childrenOf('taken', 'configmap');
  assert.match(configMap?.metadata.name ?? '', /^vmcp-taken-/);
  await assert.rejects(get('deployment', 'vmcp-taken'), /not found/i);
  await remove('serviceaccount', 'vmcp-taken');
  await until('its Deployment', () => get('deployment', 'vmcp-taken'));
  await remove('service', 'vmcp-taken');
  const healed = await untilStatus('it to heal', taken, (now) => conditionIn(now, 'ChildConflict') === undefined);
  assert.equal(healed.url, 'http://vmcp-taken.default.svc.cluster.local:4483/mcp');
});

const configMap = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });

interface Config {
  readonly incomingAuth: {
    readonly oidc: {
      readonly issuer: string;
      readonly issuerKeys: { readonly keys: readonly { readonly kid: string }[] };
    };
    readonly authz: { readonly policies: readonly string[] };
  };
}

interface DeploymentSpec {
  readonly template: {
    readonly spec: {
      readonly volumes: readonly { readonly name: string; readonly projected?: { readonly sources: unknown } }[];
    };
  };
}

describe('what the pods of a server are configured with', () => {
  const guarded = ['vmcp', 'guarded'] as const;
  const deployment = () => get('deployment', 'vmcp-guarded');

  const configNow = async (): Promise<Config> => {
    const { data } = await get('configmap', mountedConfigMap(await deployment()) ?? '');
    return parse((data as Readonly<Record<string, string>>)['config.yaml'] ?? '') as Config;
  };

  const permitting = (id: string): string => `@id("${id}") permit(principal, action, resource);`;

  const untilPolicy = (wanted: string): Promise<true> =>
    until(`policy ${wanted}`, async () =>
      (await configNow()).incomingAuth.authz.policies[0] === permitting(wanted) ? true : undefined,
    );

  const applyPolicy = (id: string): Promise<unknown> => {
    const document = { version: '1.0', type: 'cedarv1', cedar: { policies: [permitting(id)] } };
    return apply(configMap('policies', { 'authz.json': JSON.stringify(document) }));
  };

  before(async () => {
    await applyPolicy('first');
    await apply(
      made('MCPOIDCConfig', 'cluster', { type: 'clusterServiceAccount', clusterServiceAccount: {} }),
      made('MCPGroup', 'guarded', {}),
      made('VirtualMCPServer', 'guarded', {
        groupRef: { name: 'guarded' },
        incomingAuth: {
          type: 'oidc',
          oidcConfigRef: { name: 'cluster', audience: 'guarded' },
          authzConfig: { configMap: { name: 'policies' } },
        },
      }),
    );
    await until('the server', deployment);
    await untilQuiet();
  });

  test("issuer and keys of the cluster's service accounts are those of the API server", async () => {
    const { oidc } = (await configNow()).incomingAuth;
    const discovery = JSON.parse(await kubectl(['get', '--raw', '/.well-known/openid-configuration'])) as object;
    const { keys } = JSON.parse(await kubectl(['get', '--raw', '/openid/v1/jwks'])) as { readonly keys: object[] };
    assert.equal(oidc.issuer, 'issuer' in discovery && discovery.issuer);
    assert.ok(keys.length > 0);
    assert.deepEqual(oidc.issuerKeys.keys, keys);
  });

  test('policies follow their ConfigMap without new pods, and stay when it is deleted', async () => {
    await untilPolicy('first');
    const mounted = mountedConfigMap(await deployment());
    await applyPolicy('second');
    await untilPolicy('second');
    await remove('configmap', 'policies');
    await untilStatus('the condition', guarded, ({ conditions = [] }) =>
      conditions.some(({ reason }) => reason === 'ConfigMapNotFound'),
    );
    await untilPolicy('second');
    assert.equal(mountedConfigMap(await deployment()), mounted);
    await applyPolicy('third');
    await untilPolicy('third');
  });

  test('what backends need is mounted, and then nothing is written', async () => {
    await apply(
      configMap('authorities', { 'ca.pem': 'certificates' }),
      made('MCPExternalAuthConfig', 'bearer', {
        type: 'bearerToken',
        bearerToken: { tokenSecretRef: { name: 'api', key: 'token' } },
      }),
      made('MCPServerEntry', 'remote', {
        groupRef: { name: 'guarded' },
        remoteUrl: 'https://remote.example/mcp',
        transport: 'streamable-http',
        externalAuthConfigRef: { name: 'bearer' },
        caBundleRef: { configMapRef: { name: 'authorities', key: 'ca.pem' } },
      }),
    );
    const volumes = await until('the volumes', async () => {
      const { template } = (await deployment())['spec'] as DeploymentSpec;
      const ours = template.spec.volumes.filter(({ name }) => /secrets|bundles/.test(name));
      return ours.length === 2 ? ours : undefined;
    });
    assert.deepEqual(
      volumes.map(({ projected }) => projected?.sources),
      [
        [{ secret: { name: 'api', items: [{ key: 'token', path: 'api/token' }], optional: true } }],
        [{ configMap: { name: 'authorities', items: [{ key: 'ca.pem', path: 'remote/ca.crt' }], optional: true } }],
      ],
    );
    const writes = await writesDuring(async () => {
      await kubectl(['annotate', ...guarded, 'looked=again']);
      await kubectl(['create', 'secret', 'generic', 'api', '--from-literal=token=s3cr3t']);
    });
    assert.deepEqual(
      writes.filter((write) => !/^\w+ (virtualmcpservers|mcpexternalauthconfigs)\b/.test(write)),
      [],
    );
    const everything = await kubectl(['get', 'configmaps,deployments,virtualmcpservers', '-A', '-o', 'json']);
    assert.ok(!everything.includes('s3cr3t'));
  });
});

test('no reconcile failed on the way', () => {
  assert.deepEqual(
    cluster.operator.log.filter(({ level }) => level !== 'info'),
    [],
  );
});
