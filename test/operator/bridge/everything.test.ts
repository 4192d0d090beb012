import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { until } from '../../cluster/until.ts';
import { attachProgram, type BridgeUnderTest, startBridge } from './bridge-under-test.ts';

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

const echo = async (client: Client, message: string): Promise<unknown> => {
  const { content } = await client.callTool({ name: 'echo', arguments: { message } });
  return content;
};

const echoed = (message: string): object[] => [{ type: 'text', text: `Echo: ${message}` }];

describe('a real stdio server behind the bridge', () => {
  let bridge: BridgeUnderTest;
  let server: ReturnType<typeof attachProgram>;
  before(async () => {
    bridge = await startBridge();
    server = attachProgram(bridge, program);
  });
  after(async () => {
    await bridge.close();
    server.child.kill('SIGKILL');
  });

  test('a client sees the server itself: its name, its instructions and its capabilities, tasks aside', async () => {
    const client = await bridge.connect();
    assert.equal(client.getServerVersion()?.name, 'mcp-servers/everything');
    assert.match(client.getInstructions() ?? '', /everything/i);
    const { tasks, ...capabilities } = client.getServerCapabilities() ?? {};
    assert.equal(tasks, undefined);
    assert.deepEqual(capabilities['resources'], { subscribe: true, listChanged: true });
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'echo'));
  });

  test('many clients call at once, with the same ids, and each gets its own answers', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => bridge.connect()));
    const answers = await Promise.all(
      clients.flatMap((client, index) => [1, 2, 3].map((round) => echo(client, `${index}/${round}`))),
    );
    assert.deepEqual(
      answers,
      clients.flatMap((_client, index) => [1, 2, 3].map((round) => echoed(`${index}/${round}`))),
    );
  });

  test('progress goes to the call that it is about, also where two clients chose the same token', async () => {
    const clients = await Promise.all([bridge.connect(), bridge.connect()]);
    const seen = await Promise.all(
      clients.map(async (client, index) => {
        const steps = index + 2;
        const told: unknown[] = [];
        const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps } };
        await client.callTool(call, undefined, { onprogress: ({ progress, total }) => told.push([progress, total]) });
        return told;
      }),
    );
    assert.deepEqual(seen, [
      [
        [1, 2],
        [2, 2],
      ],
      [
        [1, 3],
        [2, 3],
        [3, 3],
      ],
    ]);
  });

  test('sampling and elicitation reach the client whose call wants them', async () => {
    const client = await bridge.connect({ sampling: {}, elicitation: {} }, (each) => {
      each.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
        model: 'none',
        role: 'assistant',
        content: { type: 'text', text: `${params.messages.length} message` },
      }));
      each.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
    });
    const bystander = await bridge.connect();
    const sampled = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'hi' } });
    assert.match(JSON.stringify(sampled.content), /1 message/);
    const asked = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
    assert.match(JSON.stringify(asked.content), /declined/);
    const refused = await bystander.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'hi' } });
    assert.equal(refused.isError, true);
    assert.match(JSON.stringify(refused.content), /has not declared/);
  });

  test('a client that subscribed to a resource is notified of its changes, and no other', async () => {
    const told: string[] = [];
    const uri = 'demo://resource/dynamic/text/1';
    const listen = (name: string) => (client: Client) =>
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void told.push(`${name} ${params.uri}`),
      );
    const subscriber = await bridge.connect({}, listen('subscriber'));
    await bridge.connect({}, listen('bystander'));
    await subscriber.subscribeResource({ uri });
    await subscriber.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    await until('the update', () => Promise.resolve(told[0]));
    assert.deepEqual([...new Set(told)], [`subscriber ${uri}`]);
    await subscriber.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
  });

  test('a call that its client cancels ends for the server, too, and disturbs no other', async () => {
    const [impatient, patient] = await Promise.all([bridge.connect(), bridge.connect()]);
    const controller = new AbortController();
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 30, steps: 300 } };
    let progressed = (): void => {};
    const first = new Promise<void>((resolve) => {
      progressed = resolve;
    });
    const call = impatient.callTool(long, undefined, { signal: controller.signal, onprogress: progressed });
    await first;
    controller.abort('enough');
    await assert.rejects(call, /enough/);
    assert.deepEqual(await echo(patient, 'still here'), echoed('still here'));
    assert.deepEqual(await echo(impatient, 'me too'), echoed('me too'));
  });

  test('when the server is started anew, calls under way fail, old sessions end, and new ones work', async () => {
    const client = await bridge.connect();
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 30, steps: 300 } };
    let progressed = (): void => {};
    const first = new Promise<void>((resolve) => {
      progressed = resolve;
    });
    const call = client.callTool(long, undefined, { onprogress: progressed });
    const failed = assert.rejects(call, /the server’s container has ended/);
    await first;
    await server.kill();
    await failed;
    assert.equal((await fetch(`${bridge.origin}/readyz`)).status, 503);
    server = attachProgram(bridge, program);
    await assert.rejects(echo(client, 'old'), { code: 404 });
    assert.deepEqual(await echo(await bridge.connect(), 'new'), echoed('new'));
    assert.equal((await fetch(`${bridge.origin}/readyz`)).status, 200);
  });
});
