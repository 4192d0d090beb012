import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connect } from '../../../operator/api/kubeconfig.ts';
import { startBridge, type Serving } from '../../../operator/bridge/index.ts';
import { systemClock } from '../../../runtime/system-clock.ts';
import { buildImages, type Node, skipWithoutNode, startNode, until } from '../../cluster/index.ts';
import { REPOSITORY, versionOf } from '../../cluster/images/packages.ts';

const skip = await skipWithoutNode();

describe('a container of a real node', { skip }, () => {
  let node: Node;
  let serving: Serving;
  const logged: string[] = [];
  before(async () => {
    const { everything } = await buildImages();
    node = await startNode();
    await node.importImage(everything);
    await node.kubectl(['apply', '--filename', '-'], JSON.stringify(await podOf('server')));
    await node.kubectl(['wait', 'pod/server', '--for', 'condition=Ready', '--timeout', '60s']);
    const logAs =
      (level: string) =>
      (fields: object, message: string): void =>
        void logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
    serving = await startBridge(
      {
        address: { namespace: 'default', pod: 'server', container: 'mcp' },
        host: '127.0.0.1',
        port: 0,
        allowedHosts: [],
      },
      {
        connection: await connect(node.kubeconfig, {}),
        clock: systemClock,
        random: () => 0.5,
        newSessionId: randomUUID,
        newCorrelationId: randomUUID,
        version: '0.0.0',
        log: { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') },
      },
    );
  });
  after(async () => {
    console.log(logged.join('\n'));
    await serving?.stop();
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
});

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
