import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connect } from '../../../operator/api/kubeconfig.ts';
import { startBridge, type Serving } from '../../../operator/bridge/index.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { type Node, skipWithoutNode, startNode, until } from '../../cluster/index.ts';
import { REPOSITORY, versionOf } from '../../cluster/images/packages.ts';

const skip = await skipWithoutNode();

describe('a container of a real node', { skip }, () => {
  let node: Node;
  let serving: Serving;
  let cable: Cable;
  let folder: string;
  const logged: string[] = [];
  before(async () => {
    node = await startNode();
    await node.kubectl(['apply', '--filename', '-'], JSON.stringify(await podOf('server')));
    await node.kubectl(['wait', 'pod/server', '--for', 'condition=Ready', '--timeout', '60s']);
    const logAs =
      (level: string) =>
      (fields: object, message: string): void =>
        void logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
    cable = await startCable(new URL(node.url));
    folder = await mkdtemp(join(tmpdir(), 'vmcp-attach-'));
    await writeFile(join(folder, 'kubeconfig'), await throughCable(node.kubeconfig, cable.port));
    serving = await startBridge(
      { ...LISTENING, address: ADDRESS },
      {
        ...DEPS,
        connection: await connect(join(folder, 'kubeconfig'), {}),
        log: { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') },
      },
    );
  });
  after(async () => {
    await serving?.stop();
    await cable?.close();
    await rm(folder, { recursive: true, force: true });
    await node?.stop();
  });

  const client = async (): Promise<Client> => {
    const connected = new Client({ name: 'test', version: '1' });
    await connected.connect(new StreamableHTTPClientTransport(new URL(`${serving.origin}/mcp`)));
    return connected;
  };

  const echo = async (to: Client, message: string): Promise<unknown> => {
    const { content } = await to.callTool({ name: 'echo', arguments: { message } });
    return content;
  };

  test('is spoken to through the API server, also in messages larger than a frame', async () => {
    const connected = await until('the server', client);
    const message = 'ä'.repeat(1_000_000);
    assert.deepEqual(await echo(connected, message), [{ type: 'text', text: `Echo: ${message}` }]);
  });

  test('goes on with its sessions when the connection to the API server breaks', async () => {
    const connected = await client();
    await echo(connected, 'before');
    const attached = logged.filter((line) => line.includes('attached to the server’s container {')).length;
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 60 } };
    const { promise: begun, resolve: progressed } = Promise.withResolvers<unknown>();
    const call = assert.rejects(
      connected.callTool(long, undefined, { onprogress: progressed }),
      /connection .* was lost/,
    );
    await begun;
    cable.cut();
    await call;
    assert.deepEqual(await echo(connected, 'after'), [{ type: 'text', text: 'Echo: after' }]);
    const again = logged.filter((line) => line.includes('attached to the server’s container {')).slice(attached);
    assert.match(again.at(-1) ?? '', /"isSameRun":true/);
    assert.equal(logged.filter((line) => line.includes('the server is initialized')).length, 1);
  });

  test('begins anew when its program has ended', async () => {
    const connected = await client();
    const script = `for (const pid of require('fs').readdirSync('/proc').map(Number))
      if (pid > 1 && pid !== process.pid) try { process.kill(pid, 'SIGKILL'); } catch {}`;
    const killedAt = performance.now();
    await node.kubectl(['exec', 'server', '--', 'node', '-e', script]);
    const isOver = (error: unknown): true | undefined => (error as { code?: number }).code === 404 || undefined;
    await until('the end of the session', () => echo(connected, 'old').then(() => undefined, isOver));
    const next = await until('the server', client, { intervalMs: 100 });
    console.log(`served again ${((performance.now() - killedAt) / 1000).toFixed(1)} s after the program was killed`);
    assert.deepEqual(await echo(next, 'new'), [{ type: 'text', text: 'Echo: new' }]);
  });

  test('needs the right to get pods, and those to get and to create attachments', async () => {
    const rights = [
      { resources: ['pods'], verbs: ['get'] },
      { resources: ['pods/attach'], verbs: ['get'] },
      { resources: ['pods/attach'], verbs: ['create'] },
    ];
    for (const [index, missing] of [undefined, ...rights].entries()) {
      const account = `bridge-${index}`;
      const rules = rights
        .filter((right) => right !== missing)
        .map((right) => ({ apiGroups: [''], resourceNames: ['server'], ...right }));
      await node.kubectl(['apply', '--filename', '-'], JSON.stringify(accountWith(account, rules)));
      const kubeconfig = await node.kubeconfigFor(await node.tokenFor(account, 'default'));
      assert.equal(await canAttach(kubeconfig), missing === undefined, JSON.stringify(missing ?? 'none is missing'));
    }
  });

  const canAttach = async (kubeconfig: string): Promise<boolean> => {
    const told: string[] = [];
    const tell = (fields: object, message: string): void => void told.push(`${message} ${JSON.stringify(fields)}`);
    const connection = await connect(kubeconfig, {});
    const log = { debug: tell, info: tell, warn: tell, error: tell };
    const bridge = await startBridge({ ...LISTENING, address: ADDRESS }, { ...DEPS, connection, log });
    const isTold = (text: string): true | undefined => told.some((line) => line.includes(text)) || undefined;
    try {
      await until('success or refusal', () => Promise.resolve(isTold('is initialized') ?? isTold('is forbidden')));
    } finally {
      await bridge.stop();
    }
    return isTold('is forbidden') === undefined;
  };
});

const ADDRESS = { namespace: 'default', pod: 'server', container: 'mcp' };
const LISTENING = { host: '127.0.0.1', port: 0, allowedHosts: [] };
const DEPS = {
  clock: systemClock,
  random: () => 0.5,
  newSessionId: randomUUID,
  newCorrelationId: randomUUID,
  version: '0.0.0',
};

const accountWith = (name: string, rules: readonly object[]): object => {
  const apiGroup = 'rbac.authorization.k8s.io';
  const rbac = { apiVersion: `${apiGroup}/v1`, metadata: { name } };
  const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }];
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    { ...rbac, kind: 'Role', rules },
    { ...rbac, kind: 'RoleBinding', roleRef: { apiGroup, kind: 'Role', name }, subjects },
  ];
  return { apiVersion: 'v1', kind: 'List', items };
};

/** The way to the API server, which can be cut. */
interface Cable {
  readonly port: number;
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

const startCable = async (target: URL): Promise<Cable> => {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connectTo(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const close = async (): Promise<void> => {
    cut();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, cut, close };
};

const throughCable = async (kubeconfig: string, port: number): Promise<string> => {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8')) as { clusters: { cluster: object }[] };
  const clusters = config.clusters.map((each) => ({
    ...each,
    cluster: { ...each.cluster, server: `https://127.0.0.1:${port}`, 'tls-server-name': 'kubernetes' },
  }));
  return JSON.stringify({ ...config, clusters });
};

/** A pod whose one container is a real stdio server. */
const podOf = async (name: string): Promise<object> => {
  const everything = await readFile(join(REPOSITORY, 'examples/quickstart/backends/everything.yaml'), 'utf8');
  const image = /image: (\S+)/.exec(everything)?.[1];
  const version = await versionOf('@modelcontextprotocol/server-everything');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'mcp',
          image,
          command: ['npx', '--yes', `@modelcontextprotocol/server-everything@${version}`],
          stdin: true,
          env: [{ name: 'HOME', value: '/tmp' }],
        },
      ],
    },
  };
};
