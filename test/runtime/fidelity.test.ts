import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { answerJson, answerSse, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { results } from '../fixtures/corpus/results.ts';
import { openSession, type RawSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

describe('a result comes out byte for byte as the backend wrote it', () => {
  let backend: FixtureBackend;
  let running: Running;
  let session: RawSession;
  before(async () => {
    backend = await startBackend();
    running = await startRuntime(configFile({ a: backend.url }));
    session = await openSession(running.url);
    await session.toolNames();
  });
  after(async () => {
    await running.stop();
    await backend.close();
  });

  for (const [what, result] of Object.entries(results)) {
    for (const [lane, answer] of [
      ['JSON', answerJson],
      ['an event stream', answerSse],
    ] as const) {
      const isOneLine = !/[\r\n]/.test(result);
      test(
        `${what}, sent as ${lane}`,
        { skip: lane !== 'JSON' && !isOneLine && 'an event has one line per data field' },
        async () => {
          backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? answer(result) : undefined) });
          const { text } = await session.send({
            jsonrpc: '2.0',
            id: 'f',
            method: 'tools/call',
            params: { name: 'a_echo' },
          });
          assert.equal(text, `{"jsonrpc":"2.0","id":"f","result":${result}}`);
        },
      );
    }
  }

  for (const id of ['1', '"a"', '"\\u00fc"', '9007199254740993', '-1', '1.0', '""']) {
    test(`the id ${id} comes back as it was spelt`, async () => {
      backend.set({});
      const { text } = await session.send(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"a_echo"}}`,
      );
      assert.ok(text.includes(`"id":${id},`), text);
    });
  }
});

describe('what is no call of a tool comes out byte for byte, too', () => {
  const requests = [
    ['prompts/get', { name: 'a_p' }],
    ['resources/read', { uri: 'odd:%zz' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'a_p' }, argument: { name: 'x', value: '' } }],
  ] as const;
  for (const [method, params] of requests) {
    test(method, async () => {
      const options = {
        lists: { prompts: ['{"name":"p"}'], resources: ['{"uri":"odd:%zz","name":""}'] },
        capabilities: { completions: {} },
      };
      const backend = await startBackend(options);
      const running = await startRuntime(configFile({ a: backend.url }));
      const session = await openSession(running.url);
      for (const [what, result] of Object.entries(results)) {
        backend.set({
          ...options,
          on: ({ recorded }) => (recorded.method === method ? answerJson(result) : undefined),
        });
        const { text } = await session.send({ jsonrpc: '2.0', id: 'f', method, params });
        assert.ok(text === `{"jsonrpc":"2.0","id":"f","result":${result}}`, what);
      }
      await running.stop();
      await backend.close();
    });
  }
});

describe('a request reaches the backend as the client wrote it, but for the name', () => {
  const requests: readonly (readonly [string, string])[] = [
    [
      '{ "id":1.0,\n "params" : {"arguments":{"n":1.0,"big":12345678901234567890},"name":"a_echo","_meta":{"progressToken":7,"x/y":1}}, "method":"tools/call","jsonrpc":"2.0"}',
      '{ "id":1.0,\n "params" : {"arguments":{"n":1.0,"big":12345678901234567890},"name":"echo","_meta":{"progressToken":7,"x/y":1}}, "method":"tools/call","jsonrpc":"2.0"}',
    ],
    [
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"n\\u0061me":"a_\\u0065cho","arguments":{"name":"a_echo"},"future":[1]}}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"n\\u0061me":"echo","arguments":{"name":"a_echo"},"future":[1]}}',
    ],
  ];
  for (const [sent, expected] of requests) {
    test(sent, async () => {
      const backend = await startBackend();
      const running = await startRuntime(configFile({ a: backend.url }));
      const session = await openSession(running.url);
      await session.send(sent);
      assert.equal(backend.requests.find(({ method }) => method === 'tools/call')?.body, expected);
      await running.stop();
      await backend.close();
    });
  }
});

describe('a tool is listed as the backend wrote it, but for the name', () => {
  const odd =
    '{"title":"T","inputSchema":{"type":"object","x":1.0},"name":"odd","icons":[{"src":"x","new":1}],"annotations":{"futureHint":true},"_meta":{"a":1e400},"later":12345678901234567890}';
  test(odd, async () => {
    const backend = await startBackend({ tools: [odd] });
    const running = await startRuntime(configFile({ a: backend.url }));
    const { text } = await (await openSession(running.url)).request('tools/list');
    assert.equal(text, `{"jsonrpc":"2.0","id":1,"result":{"tools":[${odd.replace('"odd"', '"a_odd"')}]}}`);
    await running.stop();
    await backend.close();
  });
});
