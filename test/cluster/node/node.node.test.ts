import assert from 'node:assert/strict';
import { access, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { skipWithoutNode, startNode, until, VMCP_IMAGE, type Node } from '../index.ts';
import { withLock } from '../lock.ts';
import type { Addresses } from './addresses.ts';
import { lockOf } from './node.ts';
import { REPOSITORY } from '../images/packages.ts';

const NAMESPACE = 'node-test';
const skip = await skipWithoutNode();

describe('the one-node cluster', { skip }, () => {
  let node: Node;
  before(async () => {
    node = await startNode();
    await node.kubectl(['create', 'namespace', NAMESPACE]);
  });
  after(async () => {
    await node?.stop();
    // With the lock, so that it is not the next node of these addresses that is found.
    if (node !== undefined) await withLock(lockOf(node.addresses), () => assertNothingLeft(node.addresses));
  });

  const inNamespace = (...args: readonly string[]): Promise<string> =>
    node.kubectl(['--namespace', NAMESPACE, ...args]);

  test('the servers of the quickstart become ready, each under its public image and its own arguments', async () => {
    await inNamespace('apply', '--filename', join(REPOSITORY, 'examples/quickstart/backends'));
    await inNamespace('rollout', 'status', 'deployment', '--timeout', '60s');
  });

  test('our runtime image runs without root, on a read-only file system, and knows its version', async () => {
    await node.kubectl(['apply', '--filename', '-'], pod('version', ['version']));
    await inNamespace('wait', 'pod/version', '--for', 'jsonpath={.status.phase}=Succeeded', '--timeout', '30s');
    const { version } = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
    assert.equal((await inNamespace('logs', 'version')).trim(), version);
  });

  test('a pod finds a Service by name, and the host reaches the same one by address', async () => {
    const script = `fetch('http://everything:3001/mcp', { method: 'DELETE' }).then((answer) => console.log(answer.status))`;
    await node.kubectl(['apply', '--filename', '-'], pod('client', ['-e', script], ['/nodejs/bin/node']));
    await inNamespace('wait', 'pod/client', '--for', 'jsonpath={.status.phase}=Succeeded', '--timeout', '30s');
    const fromPod = (await inNamespace('logs', 'client')).trim();
    const address = await inNamespace('get', 'service', 'everything', '--output', 'jsonpath={.spec.clusterIP}');
    const fromHost = await fetch(`http://${address}:3001/mcp`, { method: 'DELETE' });
    assert.equal(fromPod, String(fromHost.status));
  });

  test('a mounted ConfigMap follows its object within seconds', async () => {
    await inNamespace('create', 'configmap', 'followed', '--from-literal', 'word=old');
    await node.kubectl(['apply', '--filename', '-'], reader());
    await until('the old word', () => lastLine('old'));
    await inNamespace('patch', 'configmap', 'followed', '--patch', '{"data":{"word":"new"}}');
    await until('the new word', () => lastLine('new'), { timeoutMs: 30_000 });
  });

  const lastLine = async (word: string): Promise<true | undefined> =>
    (await inNamespace('logs', 'reader', '--tail', '1')).trim() === word ? true : undefined;
});

/** No link, no cgroup, no mount and no file of it. */
async function assertNothingLeft({ link, cgroup }: Addresses): Promise<void> {
  assert.ok(!(await readdir('/sys/class/net')).includes(link));
  const groups = (await readdir('/sys/fs/cgroup')).map((hierarchy) =>
    access(join('/sys/fs/cgroup', hierarchy, cgroup)),
  );
  for (const group of await Promise.allSettled(groups)) assert.equal(group.status, 'rejected');
  const own = `vmcp-test-${process.pid}-`;
  assert.ok(!(await readFile('/proc/mounts', 'utf8')).includes(own));
  assert.deepEqual(
    (await readdir(tmpdir())).filter((name) => name.startsWith(own)),
    [],
  );
}

const pod = (name: string, args: readonly string[], command?: readonly string[], more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'vmcp',
          image: VMCP_IMAGE,
          args,
          ...(command === undefined ? {} : { command }),
          securityContext: {
            runAsNonRoot: true,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
          ...('volumes' in more ? { volumeMounts: [{ name: 'followed', mountPath: '/followed' }] } : {}),
        },
      ],
      ...more,
    },
  });

const reader = (): string => {
  const script = `setInterval(() => console.log(require('fs').readFileSync('/followed/word', 'utf8')), 200)`;
  return pod('reader', ['-e', script], ['/nodejs/bin/node'], {
    volumes: [{ name: 'followed', configMap: { name: 'followed' } }],
  });
};
