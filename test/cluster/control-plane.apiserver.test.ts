import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { startControlPlane, until, type ControlPlane } from './index.ts';

const configMap = (name: string): string => JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

let first: ControlPlane;
let second: ControlPlane;

before(async () => {
  [first, second] = await Promise.all([startControlPlane(), startControlPlane()]);
});
after(() => Promise.all([first, second].map((plane) => plane.stop())));

test('two control planes side by side know nothing of each other', async () => {
  await first.kubectl(['apply', '--filename', '-'], configMap('only-here'));
  await first.kubectl(['get', 'configmap', 'only-here']);
  await assert.rejects(second.kubectl(['get', 'configmap', 'only-here']), /not found/);
});

test('the audit log counts every write request of a user and no read', async () => {
  const writesBefore = (await first.writes('admin')).length;
  await first.kubectl(['create', '--filename', '-'], configMap('counted'));
  await first.kubectl(['get', 'configmap', 'counted']);
  await first.kubectl(['delete', 'configmap', 'counted']);
  const writes = (await first.writes('admin')).slice(writesBefore);
  assert.deepEqual(
    writes.map(({ verb, resource, name, code }) => ({ verb, resource, name, code })),
    [
      { verb: 'create', resource: 'configmaps', name: 'counted', code: 201 },
      { verb: 'delete', resource: 'configmaps', name: 'counted', code: 200 },
    ],
  );
});

test('what is got without kubectl is what kubectl gets', async () => {
  for (const [kind, name] of [
    ['serviceaccounts', 'default'],
    ['sa', 'default'],
    ['ClusterRole', 'admin'],
  ] as const)
    assert.deepEqual(await first.get(kind, name), JSON.parse(await first.kubectl(['get', kind, name, '-o', 'json'])));
  const selector = 'component=apiserver';
  for (const [options, args] of [
    [{}, []],
    [{ selector }, ['--selector', selector]],
    [{ namespace: 'kube-system' }, ['--namespace', 'kube-system']],
    [{ hasManagedFields: true }, ['--show-managed-fields']],
  ] as const) {
    const text = await first.kubectl(['get', 'svc,cm,serviceaccounts', ...args, '-o', 'json']);
    const { items } = JSON.parse(text) as { readonly items: readonly unknown[] };
    assert.deepEqual(await first.list('svc,cm,serviceaccounts', options), items);
  }
  await assert.rejects(first.get('deployment', 'nobody'), /deployments\.apps "nobody" not found/);
  await assert.rejects(first.get('nothing', 'nobody'), /doesn't have a resource type "nothing"/);
});

test('a service account has the rights that RBAC gives it and no more', async () => {
  await first.kubectl(['create', 'serviceaccount', 'reader']);
  await first.kubectl(['create', 'role', 'reader', '--verb', 'get', '--resource', 'configmaps']);
  await first.kubectl(['create', 'rolebinding', 'reader', '--role', 'reader', '--serviceaccount', 'default:reader']);
  await first.kubectl(['apply', '--filename', '-'], configMap('readable'));
  const kubeconfig = await first.kubeconfigFor(await first.tokenFor('reader', 'default'));
  await first.kubectl(['--kubeconfig', kubeconfig, 'get', 'configmap', 'readable']);
  await assert.rejects(first.kubectl(['--kubeconfig', kubeconfig, 'delete', 'configmap', 'readable']), /forbidden/i);
  const denied = (await first.writes('system:serviceaccount:default:reader')).at(-1);
  assert.equal(denied?.code, 403);
});

test('the controllers make what a Deployment asks for, and collect it when it goes', async () => {
  await first.kubectl(['create', 'deployment', 'web', '--image', 'example.test/none:1']);
  const pods = (): Promise<string> => first.kubectl(['get', 'pods', '--selector', 'app=web', '--output', 'name']);
  await until('the pod', async () => (await pods()) || undefined);
  await first.kubectl(['delete', 'deployment', 'web']);
  await until('its end', async () => ((await pods()) === '' ? true : undefined));
});

test('nothing is left behind', async () => {
  const plane = await startControlPlane();
  await plane.stop();
  await assert.rejects(access(plane.kubeconfig));
});
