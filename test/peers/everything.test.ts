import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Running } from '../../runtime/start.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import type { Peer } from './processes.ts';
import { startEverything } from './servers.ts';

const ROOT = { uri: 'file:///home/somebody', name: 'home' };

describe('server-everything and the SDK client, with the gateway between them', () => {
  let everything: Peer;
  let running: Running;
  let client: Client;
  const asked: string[] = [];

  const answerQuestions = (): void => {
    client.setRequestHandler(CreateMessageRequestSchema, () => {
      asked.push('sampling');
      return { model: 'none', role: 'assistant', content: { type: 'text', text: 'sampled words' } };
    });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.mode ?? 'form');
      return { action: 'accept', ...(params.mode !== 'url' && { content: { name: 'Ada', check: true } }) };
    });
    client.setRequestHandler(ListRootsRequestSchema, () => {
      asked.push('roots');
      return { roots: [ROOT] };
    });
  };

  before(async () => {
    everything = await startEverything('streamableHttp');
    running = await startRuntime(configFile({ e: everything.url }));
    const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
    client = new Client({ name: 'sdk', version: '1' }, { capabilities });
    answerQuestions();
    await client.connect(new StreamableHTTPClientTransport(new URL(running.url)));
  });
  after(async () => {
    await client.close();
    await running.stop();
    await everything.stop();
  });

  const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
    JSON.stringify((await client.callTool({ name: `e_${name}`, arguments: args })).content);

  test('a tool has the client sample', async () => {
    assert.match(await call('trigger-sampling-request', { prompt: 'words?' }), /sampled words/);
    assert.ok(asked.includes('sampling'));
  });

  test('a tool asks the user with a form', async () => {
    assert.match(await call('trigger-elicitation-request'), /Ada/);
    assert.ok(asked.includes('form'));
  });

  test('a tool sends the user to a URL', async () => {
    await call('trigger-url-elicitation', { url: 'https://example.com/' });
    assert.ok(asked.includes('url'));
  });

  test('a tool learns the roots of the client', async () => {
    assert.match(await call('get-roots-list'), /file:\/\/\/home\/somebody/);
    assert.ok(asked.includes('roots'));
  });

  test('progress arrives while a tool works', async () => {
    const steps: number[] = [];
    await client.callTool(
      { name: 'e_trigger-long-running-operation', arguments: { duration: 0.1, steps: 4 } },
      undefined,
      { onprogress: ({ progress }) => void steps.push(progress) },
    );
    assert.deepEqual(steps, [1, 2, 3, 4]);
  });

  test('log messages arrive between calls, at the level the client wants', async () => {
    await client.setLoggingLevel('debug');
    const logged = new Promise<void>((resolve) => {
      client.setNotificationHandler(LoggingMessageNotificationSchema, () => resolve());
    });
    await call('toggle-simulated-logging');
    await logged;
    await call('toggle-simulated-logging');
  });

  test('updates of a resource arrive', async () => {
    const uri = 'demo://resource/dynamic/text/1';
    await client.subscribeResource({ uri });
    const updated = new Promise<string>((resolve) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
    });
    await call('toggle-subscriber-updates');
    assert.equal(await updated, uri);
    await call('toggle-subscriber-updates');
    await client.unsubscribeResource({ uri });
  });

  test('prompts, resources, templates and completions are those of the server', async () => {
    const prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
    assert.ok(prompts.includes('e_args-prompt'), prompts.join());
    const prompt = await client.getPrompt({ name: 'e_args-prompt', arguments: { city: 'Paris' } });
    assert.match(JSON.stringify(prompt.messages), /Paris/);
    const [resource] = (await client.listResources()).resources;
    assert.ok(resource);
    const { contents } = await client.readResource({ uri: resource.uri });
    assert.equal(contents[0]?.uri, resource.uri);
    const templates = (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate);
    assert.ok(templates.includes('demo://resource/dynamic/text/{resourceId}'), templates.join());
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'e_completable-prompt' },
      argument: { name: 'department', value: 'E' },
    });
    assert.deepEqual(completion.values, ['Engineering']);
  });

  test('a picture, links, annotations and structured content are as the server made them', async () => {
    assert.match(await call('get-tiny-image'), /"type":"image"/);
    assert.match(await call('get-resource-links', { count: 2 }), /"type":"resource_link"/);
    assert.match(await call('get-annotated-message', { messageType: 'error' }), /"priority":1/);
    const { structuredContent } = await client.callTool({
      name: 'e_get-structured-content',
      arguments: { location: 'New York' },
    });
    assert.ok(structuredContent);
  });
});
