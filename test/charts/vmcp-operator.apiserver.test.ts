import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { helm, startControlPlane, type ControlPlane } from '../cluster/index.ts';

const CHART = join(import.meta.dirname, '..', '..', 'charts', 'vmcp-operator');
const OPERATOR = 'system:serviceaccount:vmcp-system:vmcp-operator';
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

  /** kubectl fails on a no, with the word on standard output. */
  const may = async (namespace: string, ...right: readonly string[]): Promise<boolean> =>
    cluster.kubectl(['auth', 'can-i', ...right, '--as', OPERATOR, '--namespace', namespace]).then(
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
    // Their metadata is watched (decisions "Config in the cluster"); RBAC has no word for metadata.
    assert.ok(await may('default', 'list', 'secrets'));
    assert.ok(!(await may('default', 'create', 'secrets')));
  });

  test('an upgrade goes through, and the CRDs outlive the release', async () => {
    await helm(
      ['upgrade', 'vmcp-operator', CHART, '--namespace', 'vmcp-system', '--set', 'replicas=2'],
      cluster.kubeconfig,
    );
    await helm(['uninstall', 'vmcp-operator', '--namespace', 'vmcp-system'], cluster.kubeconfig);
    assert.notEqual(await cluster.kubectl(CRDS), '');
    assert.equal(await cluster.kubectl(['--namespace', 'vmcp-system', 'get', 'deployments', '--output', 'name']), '');
  });
});
