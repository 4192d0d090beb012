import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startBackend } from '../fixtures/backend.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

test('what one backend lists badly takes nothing of another from a client that checks whole lists', async (t) => {
  const odd = await startBackend({
    tools: [
      '{"name":"t"}',
      '{"name":"t","inputSchema":[]}',
      '{"name":"t","inputSchema":{}}',
      '{"name":"t","description":5,"inputSchema":{"type":"object"}}',
      `{"name${'X'.repeat(65_535)}e":"t","inputSchema":{"type":"object"}}`,
      '{"name":"t","inputSchema":{"type":"object","properties":{"x":null}}}',
    ],
    lists: {
      prompts: ['{"name":"p","arguments":[{}]}'],
      resources: ['{"uri":"x:y"}', '{"uri":"x:z","name":"n","annotations":{"lastModified":"2025-01-12"}}'],
      resourceTemplates: ['{"uriTemplate":"x:{y}"}'],
    },
  });
  const sound = await startBackend({
    tools: ['echo'],
    lists: {
      prompts: ['{"name":"p"}'],
      resources: ['{"uri":"s:1","name":"r"}'],
      resourceTemplates: ['{"uriTemplate":"s:{x}","name":"r"}'],
    },
  });
  const running = await startRuntime(configFile({ odd: odd.url, sound: sound.url }));
  const client = new Client({ name: 'v1', version: '1' });
  t.after(async () => {
    await client.close();
    await running.stop();
    await odd.close();
    await sound.close();
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(running.url)));
  const { tools } = await client.listTools();
  const { prompts } = await client.listPrompts();
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(
    [tools, prompts, resources, resourceTemplates].map((entries) => entries.map(({ name }) => name)),
    [['sound_echo'], ['sound_p'], ['r'], ['r']],
  );
  const [first] = running.status().backends;
  assert.match(first?.message ?? '', /^left out of its lists, .* tool "t", for its inputSchema, and 9 more$/);
});
