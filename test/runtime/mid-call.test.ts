import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
  type ClientCapabilities,
} from '@modelcontextprotocol/sdk/types.js';
import type { Running } from '../../runtime/start.ts';
import { answerJson, type Exchange, type FixtureBackend, startBackend, textResult } from '../fixtures/backend.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { type SseBridge, startSseBridge } from '../fixtures/sse-bridge.ts';

for (const transport of ['streamable-http', 'sse'] as const)
  describe(`over ${transport}`, () => {
    let backend: FixtureBackend;
    let bridge: SseBridge | undefined;
    let running: Running;
    let client: Client;

    /** The stream of the last tool call; what the backend says on it is the test's. */
    let call: Exchange;
    let called: PromiseWithResolvers<Exchange>;

    beforeEach(async () => {
      called = Promise.withResolvers();
      backend = await startBackend(options());
      bridge = transport === 'sse' ? await startSseBridge(backend.url) : undefined;
      running = await startRuntime(configFile({ a: bridge?.url ?? backend.url }, {}, transport));
    });
    afterEach(async () => {
      await client.close();
      await running.stop();
      await bridge?.close();
      await backend.close();
    });

    const options = () => ({
      hasStream: true,
      capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
      lists: { resources: ['{"uri":"a://1","name":"1"}'] },
      on: (exchange: Exchange) => {
        if (exchange.recorded.method !== 'tools/call') return undefined;
        return ({ response }: { response: ServerResponse }) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          called.resolve(exchange);
        };
      },
    });

    const connect = async (capabilities: ClientCapabilities = {}): Promise<void> => {
      client = new Client({ name: 'test', version: '1' }, { capabilities });
      await client.connect(new StreamableHTTPClientTransport(new URL(running.url)));
    };

    /** Calls the tool, and waits until the backend has the call: its stream is then `call`. */
    const begin = async (onProgress?: (progress: number) => void): Promise<{ readonly text: Promise<string> }> => {
      const answer = client.callTool({ name: 'a_echo' }, undefined, {
        ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }),
      });
      call = await called.promise;
      return { text: answer.then(({ content }) => (content as { text: string }[])[0]?.text ?? '') };
    };

    const say = (message: object): void =>
      void call.response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);

    const finish = (text: string): void =>
      void call.response.end(`data: {"jsonrpc":"2.0","id":${call.id},"result":${textResult(text)}}\n\n`);

    /** What the backend is answered to its request with this id. */
    const answerTo = async (id: string): Promise<unknown> => {
      const { body } = await backend.received(
        (recorded) => recorded.method === undefined && recorded.body.includes(`"id":"${id}"`),
      );
      return JSON.parse(body);
    };

    const elicitation = {
      id: 'e1',
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
    };

    describe('during a call a backend', () => {
      test('asks the user, and gets the answer under its own id', async () => {
        await connect({ elicitation: {} });
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          assert.equal(params.message, 'Who?');
          return { action: 'accept', content: { name: 'Ada' } };
        });
        const { text } = await begin();
        say(elicitation);
        assert.deepEqual(await answerTo('e1'), {
          jsonrpc: '2.0',
          id: 'e1',
          result: { action: 'accept', content: { name: 'Ada' } },
        });
        finish('hello Ada');
        assert.equal(await text, 'hello Ada');
      });

      test('samples, and lists roots', async () => {
        await connect({ sampling: {}, roots: {} });
        const message = { model: 'm', role: 'assistant', content: { type: 'text', text: 'hi' } } as const;
        client.setRequestHandler(CreateMessageRequestSchema, () => message);
        client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///x' }] }));
        const { text } = await begin();
        say({ id: 's1', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
        say({ id: 'r1', method: 'roots/list' });
        assert.deepEqual(await answerTo('s1'), { jsonrpc: '2.0', id: 's1', result: message });
        assert.deepEqual(await answerTo('r1'), { jsonrpc: '2.0', id: 'r1', result: { roots: [{ uri: 'file:///x' }] } });
        finish('done');
        assert.equal(await text, 'done');
      });

      test('asks on the stream of its session, and is answered too', async () => {
        await connect({ elicitation: {} });
        client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
        const { text } = await begin();
        await backend.received(({ http, headers }) => http === 'GET' && headers['mcp-session-id'] === sessionOfCall());
        backend.tell(JSON.stringify({ jsonrpc: '2.0', ...elicitation, id: 'g1' }), sessionOfCall());
        assert.deepEqual(await answerTo('g1'), { jsonrpc: '2.0', id: 'g1', result: { action: 'decline' } });
        finish('done');
        await text;
      });

      test('learns what the client can answer, and nothing else of it', async () => {
        await connect({ elicitation: {}, experimental: { x: {} } });
        const { text } = await begin();
        const opened = backend.requests.filter(({ method }) => method === 'initialize').at(-1);
        assert.deepEqual(opened?.params['capabilities'], { elicitation: {} });
        finish('done');
        await text;
      });

      test('is refused what the client has not declared', async () => {
        await connect({ elicitation: {} });
        const { text } = await begin();
        say({ ...elicitation, params: { ...elicitation.params, mode: 'url', url: 'https://x', elicitationId: '1' } });
        say({ id: 's1', method: 'sampling/createMessage', params: {} });
        for (const id of ['e1', 's1'])
          assert.deepEqual(await answerTo(id), {
            jsonrpc: '2.0',
            id,
            error: { code: -32601, message: 'not supported' },
          });
        finish('done');
        assert.equal(await text, 'done');
      });

      /** Asks what the client never answers; `aborted` resolves once it hears that the question is taken back. */
      const askInVain = async (): Promise<{ readonly aborted: Promise<unknown> }> => {
        const asked = Promise.withResolvers<AbortSignal>();
        client.setRequestHandler(ElicitRequestSchema, (_request, { signal }) => {
          asked.resolve(signal);
          return new Promise(() => {});
        });
        say(elicitation);
        const signal = await asked.promise;
        return { aborted: new Promise((resolve) => signal.addEventListener('abort', resolve)) };
      };

      test('takes a question back, and the client hears of it', async () => {
        await connect({ elicitation: {} });
        const { text } = await begin();
        const { aborted } = await askInVain();
        say({ method: 'notifications/cancelled', params: { requestId: 'e1' } });
        await aborted;
        finish('done');
        await text;
      });

      test('takes a question back by answering without it', async () => {
        await connect({ elicitation: {} });
        const { text } = await begin();
        const { aborted } = await askInVain();
        finish('done');
        await aborted;
        assert.equal(await text, 'done');
      });

      test('tells its progress', async () => {
        await connect();
        const seen: number[] = [];
        const { text } = await begin((progress) => seen.push(progress));
        const { progressToken } = call.recorded.params['_meta'] as { progressToken: number };
        for (const progress of [1, 2]) say({ method: 'notifications/progress', params: { progressToken, progress } });
        finish('done');
        await text;
        assert.deepEqual(seen, [1, 2]);
      });

      // Over HTTP+SSE the order of what is posted is all that there is.
      const isOrdered = transport === 'sse';
      test('nothing before the backend has answered to the level of log messages', { skip: isOrdered }, async () => {
        await connect();
        let isKnown = false;
        let wasKnown: boolean | undefined;
        const { on, ...others } = options();
        backend.set({
          ...others,
          on: (exchange) => {
            const { method } = exchange.recorded;
            if (method === 'tools/call') wasKnown = isKnown;
            if (method !== 'logging/setLevel') return on(exchange);
            return (held) =>
              void setTimeout(() => {
                isKnown = true;
                answerJson('{}')(held);
              }, 100);
          },
        });
        await client.setLoggingLevel('warning');
        const { text } = await begin();
        finish('done');
        await text;
        assert.equal(wasKnown, true);
      });

      test('logs at the level that the client asked for', async () => {
        await connect();
        const seen: unknown[] = [];
        client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void seen.push(params.data));
        await client.setLoggingLevel('warning');
        const { text } = await begin();
        const forwarded = await backend.received(({ method }) => method === 'logging/setLevel');
        assert.equal(forwarded.params['level'], 'warning');
        for (const level of ['info', 'error', 'warning'])
          say({ method: 'notifications/message', params: { level, data: level } });
        finish('done');
        await text;
        assert.deepEqual(seen, ['error', 'warning']);
      });
    });

    /** The backend session that the call came over. */
    const sessionOfCall = (): string => String(call.recorded.headers['mcp-session-id']);

    describe('between calls a client hears', () => {
      /** Runs until the client's own stream is open at the backend's side, too. */
      const listening = async (): Promise<void> => {
        const { text } = await begin();
        await backend.received(({ http, headers }) => http === 'GET' && headers['mcp-session-id'] === sessionOfCall());
        finish('done');
        await text;
      };

      test('of a changed list, once the list has been read again', async () => {
        await connect();
        await client.listTools();
        await listening();
        const changed = new Promise<void>((resolve) =>
          client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
        );
        backend.set({ ...options(), tools: ['echo', 'new'] });
        backend.tell('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
        await changed;
        assert.deepEqual(
          (await client.listTools()).tools.map(({ name }) => name),
          ['a_echo', 'a_new'],
        );
      });

      test('of an updated resource', async () => {
        await connect();
        const updated = new Promise<string>((resolve) =>
          client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri)),
        );
        await client.subscribeResource({ uri: 'a://1' });
        await listening();
        backend.tell('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}');
        assert.equal(await updated, 'a://1');
      });
    });
  });
