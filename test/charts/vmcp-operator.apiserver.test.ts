import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import type { KubeObject } from '../../operator/object.ts';
import { helm, startControlPlane, until, type ControlPlane } from '../cluster/index.ts';
import { examples, isManifest } from '../fixtures/examples.ts';
import { trustedBy } from '../operator/admission/chart-webhook.ts';
import { operatorUser, servers, startOperatorUnderTest } from '../operator/engine/operator-under-test.ts';
import { CHART } from './rendered.ts';

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples');
const CRDS = ['get', 'crd', '--selector', 'app.kubernetes.io/part-of=vmcp', '--output', 'name'];

describe('the chart on a real API server', () => {
  let cluster: ControlPlane;
  before(async () => {
    cluster = await startControlPlane();
    await helm(
      ['install', 'vmcp-operator', CHART, '--namespace', 'vmcp-system', '--create-namespace'],
      cluster.kubeconfig,
    );
  });
  after(() => cluster?.stop());

  const upgrade = (...values: readonly string[]): Promise<string> => {
    const sets = values.flatMap((value) => ['--set-json', value]);
    return helm(['upgrade', 'vmcp-operator', CHART, '--namespace', 'vmcp-system', ...sets], cluster.kubeconfig);
  };

  /** kubectl fails on a no, with the word on standard output. */
  const may = async (namespace: string, ...right: readonly string[]): Promise<boolean> =>
    cluster.kubectl(['auth', 'can-i', ...right, '--as', operatorUser, '--namespace', namespace]).then(
      () => true,
      (error: Error) => {
        assert.match(error.message, /^no\b/m);
        return false;
      },
    );

  test('the CRDs are served', async () => {
    await cluster.kubectl(['wait', 'crd', '--all', '--for', 'condition=Established', '--timeout', '10s']);
    await cluster.kubectl(['get', 'virtualmcpservers', '--all-namespaces']);
  });

  test('the API server takes the Deployment', async () => {
    await cluster.kubectl([
      '--namespace',
      'vmcp-system',
      'wait',
      'deployment/vmcp-operator',
      '--for',
      'jsonpath={.status.replicas}=1',
      '--timeout',
      '10s',
    ]);
  });

  test('the operator may keep children in every namespace, and may get no Secret but its own', async () => {
    assert.ok(await may('default', 'create', 'deployments.apps'));
    assert.ok(await may('default', 'patch', 'virtualmcpservers.vmcp.dev', '--subresource', 'status'));
    assert.ok(!(await may('default', 'patch', 'virtualmcpservers.vmcp.dev')));
    assert.ok(await may('vmcp-system', 'get', 'secrets/vmcp-operator-management'));
    assert.ok(!(await may('vmcp-system', 'get', 'secrets/another')));
    assert.ok(!(await may('default', 'get', 'secrets')));
    // Their metadata is watched (docs/decisions.md "Secrets in files"); RBAC has no word for metadata.
    assert.ok(await may('default', 'list', 'secrets'));
    assert.ok(!(await may('default', 'create', 'secrets')));
  });

  test('the webhook may look at what is stored, at its certificates and at its own configuration, and at no other', async () => {
    const configuration = 'validatingwebhookconfigurations.admissionregistration.k8s.io';
    assert.ok(await may('default', 'get', 'mcpserverentries.vmcp.dev'));
    assert.ok(await may('default', 'get', 'namespaces/default'));
    assert.ok(await may('vmcp-system', 'update', 'secrets/vmcp-operator-webhook'));
    assert.ok(!(await may('vmcp-system', 'update', 'secrets/vmcp-operator-management')));
    assert.ok(await may('default', 'patch', `${configuration}/vmcp-operator-webhook`));
    assert.ok(!(await may('default', 'patch', `${configuration}/another`)));
    assert.ok(!(await may('default', 'create', configuration)));
  });

  const bundles = (): Promise<string> => trustedBy(cluster);

  test('an upgrade keeps the certificates that the operator made the API server trust', async () => {
    const caBundle = Buffer.from(rootCertificates[0] ?? '').toString('base64');
    const names = ['validate.vmcp.dev', 'validate-deletion.vmcp.dev'];
    const patch = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'vmcp-operator-webhook' },
      webhooks: names.map((name) => ({ name, clientConfig: { caBundle } })),
    };
    const serverSide = ['apply', '--server-side', '--field-manager', 'vmcp-operator', '-f', '-', '--as', operatorUser];
    await cluster.kubectl(serverSide, JSON.stringify(patch));
    await upgrade('webhook.timeoutSeconds=1');
    assert.equal(await bundles(), `${caBundle} ${caBundle}`);
  });

  test('what no webhook answers for is let through, and the webhook can be switched off and on', async () => {
    const group = { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPGroup', metadata: { name: 'tools' }, spec: {} };
    await cluster.kubectl(['create', '-f', '-'], JSON.stringify(group));
    await upgrade('webhook.enabled=false');
    await assert.rejects(bundles(), /not found/);
    await upgrade('webhook.enabled=true');
    await bundles();
  });

  test('everything that no other product is needed for is taken by the API server', async () => {
    const peers = '[{"namespaceSelector":{"matchLabels":{"team":"a"}}},{"ipBlock":{"cidr":"192.0.2.0/24"}}]';
    await upgrade(
      'replicas=3',
      'podDisruptionBudget.maxUnavailable="50%"',
      'podLabels={"team":"platform"}',
      'podAnnotations={"example.com/a":"b"}',
      'networkPolicy.enabled=true',
      'networkPolicy.apiServer={"cidrs":["192.0.2.1/32"],"ports":[6443]}',
      'networkPolicy.serverNamespaces=["default"]',
      `networkPolicy.clients=${peers}`,
      `networkPolicy.scrapers=${peers}`,
      'metrics.dashboards.enabled=true',
    );
    const made = ['networkpolicy,pdb,configmap,service', '--selector', 'app.kubernetes.io/instance=vmcp-operator'];
    const names = await cluster.kubectl(['get', ...made, '--all-namespaces', '--output', 'name']);
    assert.deepEqual(names.trim().split('\n').toSorted(), [
      'configmap/vmcp-operator-dashboards',
      'networkpolicy.networking.k8s.io/vmcp-operator',
      'networkpolicy.networking.k8s.io/vmcp-operator-fronts',
      'networkpolicy.networking.k8s.io/vmcp-operator-remote-proxies',
      'networkpolicy.networking.k8s.io/vmcp-operator-servers',
      'poddisruptionbudget.policy/vmcp-operator',
      'service/vmcp-operator-metrics',
      'service/vmcp-operator-webhook',
    ]);
  });

  test('the examples of resources that are not ours are taken too', async () => {
    const isKnown = ({ apiVersion }: KubeObject): boolean =>
      !/^(vmcp\.dev|gateway\.networking\.k8s\.io)\//.test(apiVersion);
    const items = examples().flatMap(({ value }) => (isManifest(value) && isKnown(value) ? [value] : []));
    assert.ok(items.length > 0);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await cluster.kubectl(['apply', '--server-side', '--dry-run=server', '-f', '-'], list);
  });

  test('with namespaces, an operator works in these, and has no right in any other', async () => {
    for (const name of ['team-a', 'team-b']) await cluster.kubectl(['create', 'namespace', name]);
    await upgrade('namespaces=["team-a"]', 'webhook.enabled=false');
    await until('the ClusterRole to be of no effect', async () =>
      (await may('team-b', 'list', 'pods')) ? undefined : true,
    );
    // The Roles that stand in for it take effect on their own time.
    for (const what of ['pods', 'mcpgroups.vmcp.dev', 'deployments.apps'])
      await until(`the right to list ${what}`, async () => ((await may('team-a', 'list', what)) ? true : undefined));
    assert.ok(!(await may('team-b', 'list', 'mcpgroups.vmcp.dev')));
    assert.ok(!(await may('vmcp-system', 'list', 'secrets')));
    assert.ok(await may('vmcp-system', 'get', 'secrets/vmcp-operator-management'));
    const kubeconfig = await cluster.kubeconfigFor(await cluster.tokenFor('vmcp-operator', 'vmcp-system'));
    const operator = await startOperatorUnderTest(kubeconfig, servers, {
      namespaces: ['team-a'],
      leaderElection: true,
    });
    try {
      await cluster.kubectl(['apply', '-f', join(EXAMPLES, 'quickstart/quickstart.yaml'), '--namespace', 'team-a']);
      await until('the server’s Deployment', () =>
        cluster.kubectl(['get', 'deployment', 'vmcp-quickstart', '--namespace', 'team-a']),
      );
      assert.deepEqual(
        // The API server takes up CRDs that have just been applied anew when it gets to it.
        operator.log.filter(({ level, error }) => level !== 'info' && error !== 'storage is (re)initializing'),
        [],
      );
    } finally {
      await operator.stop();
    }
    await upgrade('namespaces=[]');
    assert.ok(await may('team-b', 'list', 'pods'));
  });

  test('an upgrade goes through, and the CRDs outlive the release', async () => {
    await upgrade('replicas=2');
    await helm(['uninstall', 'vmcp-operator', '--namespace', 'vmcp-system'], cluster.kubeconfig);
    assert.notEqual(await cluster.kubectl(CRDS), '');
    assert.equal(await cluster.kubectl(['--namespace', 'vmcp-system', 'get', 'deployments', '--output', 'name']), '');
    // What was made under its eyes goes without it.
    await assert.rejects(bundles(), /not found/);
    await cluster.kubectl(['delete', 'mcpgroup', 'tools', '--timeout', '10s']);
  });
});
