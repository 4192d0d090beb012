import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ControlPlane } from '../../cluster/index.ts';
import { startControlPlane, until } from '../../cluster/index.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { installOperator, servers, startOperatorUnderTest } from '../engine/operator-under-test.ts';
import type { OperatorUnderTest } from '../engine/operator-under-test.ts';
import { CONFIGURATION, installWebhook } from './chart-webhook.ts';

let cluster: ControlPlane;
let kubeconfig: string;
let port: number;
let operator: OperatorUnderTest;

const isReady = async ({ healthPort }: OperatorUnderTest): Promise<true | undefined> =>
  (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok ? true : undefined;

before(async () => {
  cluster = await startControlPlane();
  kubeconfig = await installOperator(cluster, servers);
  port = await freePortPair();
  await installWebhook(cluster, port);
  const webhook = { configuration: CONFIGURATION, port, lingerMs: 0 };
  operator = await startOperatorUnderTest(kubeconfig, servers, { webhook });
  await until('the operator to be ready', () => isReady(operator));
});
after(async () => {
  await operator.stop();
  await cluster.stop();
});

const manifest = (kind: string, name: string, spec: object, namespace = 'default'): string =>
  JSON.stringify({ apiVersion: 'vmcp.dev/v1beta1', kind, metadata: { name, namespace }, spec });

const apply = (...object: Parameters<typeof manifest>): Promise<string> =>
  cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifest(...object));

const entry = (remoteUrl: string) => ({ groupRef: { name: 'tools' }, remoteUrl, transport: 'streamable-http' });

describe('kubectl apply', () => {
  test('refuses what breaks a rule, and says where, why and what to do', async () => {
    const bad = manifest('MCPServerEntry', 'bad', entry('http://me:pw@a.example.com'));
    for (const args of [['create'], ['apply'], ['apply', '--server-side']]) {
      await assert.rejects(
        cluster.kubectl([...args, '-f', '-'], bad),
        /The MCPServerEntry "bad" is invalid: spec\.remoteUrl: holds credentials; remove them, and let externalAuthConfigRef name a Secret/,
      );
    }
    await apply('MCPServerEntry', 'good', entry('http://a.example.com/mcp'));
  });
});
