import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Running } from '../../runtime/start.ts';
import { type ConformanceServer, startConformanceServer } from '../fixtures/conformance/server.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { type SseBridge, startSseBridge } from '../fixtures/sse-bridge.ts';

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const SAMPLED = { model: 'none', role: 'assistant', content: { type: 'text', text: 'good morning' } } as const;
const ELICITED = { action: 'accept', content: { name: 'Ada', color: 'blue' } } as const;
const ROOTS = { roots: [{ uri: 'file:///home/ada' }] };

type Call = (tool: string) => Promise<string>;

/** Up to 2025-11-25. */
const connectV1 = async (url: string): Promise<{ call: Call; close: () => Promise<void> }> => {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ELICITED);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    call: async (name) => JSON.stringify((await client.callTool({ name, arguments: {} })).content),
    close: () => client.close(),
  };
};

/** 2026-07-28; it answers what calls ask for by itself. */
const connectV2 = async (url: string): Promise<{ call: Call; close: () => Promise<void> }> => {
  const client = new ClientV2(
    { name: 'v2', version: '1' },
    { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  client.setRequestHandler('elicitation/create', () => ({ ...ELICITED, content: { ...ELICITED.content } }));
  client.setRequestHandler('sampling/createMessage', () => SAMPLED);
  client.setRequestHandler('roots/list', () => ROOTS);
  await client.connect(new HttpV2(new URL(url)));
  return {
    call: async (name) => JSON.stringify((await client.callTool({ name, arguments: {} })).content),
    close: () => client.close(),
  };
};

interface Cell {
  readonly client: string;
  readonly connect: typeof connectV1;
  readonly backend: 'legacy' | 'modern';
  /** How the gateway speaks to it. Default: Streamable HTTP. */
  readonly transport?: 'sse';
}

const cells: readonly Cell[] = [
  { client: 'SDK v1', connect: connectV1, backend: 'legacy' },
  { client: 'SDK v1', connect: connectV1, backend: 'modern' },
  { client: 'SDK v2 in 2026-07-28', connect: connectV2, backend: 'modern' },
  { client: 'SDK v2 in 2026-07-28', connect: connectV2, backend: 'legacy' },
  { client: 'SDK v2 in 2026-07-28', connect: connectV2, backend: 'legacy', transport: 'sse' },
];

for (const { client: name, connect, backend, transport } of cells) {
  describe(`the ${name}, and a ${backend} server that asks it questions${transport ? ` over ${transport}` : ''}`, () => {
    let server: ConformanceServer;
    let bridge: SseBridge | undefined;
    let running: Running;
    let client: { call: Call; close: () => Promise<void> };
    before(async () => {
      server = await startConformanceServer(backend);
      bridge = transport && (await startSseBridge(server.url));
      running = await startRuntime(configFile({ a: bridge?.url ?? server.url }, {}, transport));
      client = await connect(running.url);
    });
    after(async () => {
      await client.close();
      await running.stop();
      await bridge?.close();
      await server.close();
    });

    test('one question to the user', async () => {
      assert.match(await client.call('a_test_input_required_result_elicitation'), /Hello, Ada!/);
    });
    test('one to the model', async () => {
      assert.match(await client.call('a_test_input_required_result_sampling'), /good morning/);
    });
    test('one for the roots', async () => {
      assert.match(await client.call('a_test_input_required_result_list_roots'), /home\/ada/);
    });
    test('three at once', async () => {
      assert.match(
        await client.call('a_test_input_required_result_multiple_inputs'),
        /user_name,greeting,client_roots/,
      );
    });
    test('one after the other', async () => {
      assert.match(await client.call('a_test_input_required_result_multi_round'), /both steps are done/);
    });
  });
}

test('the SDK v2 in 2026-07-28 that has declared nothing is refused what it would have to be asked for', async () => {
  const server = await startConformanceServer('legacy');
  const running = await startRuntime(configFile({ a: server.url }));
  const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new HttpV2(new URL(running.url)));
  await assert.rejects(client.callTool({ name: 'a_test_missing_capability', arguments: {} }), { code: -32_021 });
  const { content } = await client.callTool({ name: 'a_test_simple_text', arguments: {} });
  assert.match(JSON.stringify(content), /simple text/);
  await client.close();
  await running.stop();
  await server.close();
});

test('the SDK v2 goes back to an earlier revision where only those are served', async () => {
  const server = await startConformanceServer('legacy');
  const running = await startRuntime(configFile({ a: server.url }, { extensions: { clientEra: 'legacy' } }));
  const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new HttpV2(new URL(running.url)));
  assert.equal(client.getNegotiatedProtocolVersion(), '2025-11-25');
  const { content } = await client.callTool({ name: 'a_test_simple_text', arguments: {} });
  assert.match(JSON.stringify(content), /simple text/);
  await client.close();
  await running.stop();
  await server.close();
});
