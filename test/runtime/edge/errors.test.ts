import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf } from '../../fixtures/answers.ts';
import {
  answerError,
  answerStatus,
  type BackendOptions,
  type Exchange,
  type FixtureBackend,
  hang,
  startBackend,
} from '../../fixtures/backend.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

/** decisions "Errors": what a client up to 2025-11-25 sees of each. */

/** One of each kind, by what the backend does with its requests; `list` requests are answered properly. */
const FAILURES = {
  gone: ({ response }: Exchange) => void response.destroy(),
  garbage: answerStatus(200, 'no JSON'),
  broken: answerStatus(500, ''),
  unauthenticated: answerStatus(401, ''),
  silent: hang,
  refuses: answerError('{"code":-32099,"message":"mine","data":{"big":12345678901234567890}}'),
} as const;

const ROUTED = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete']);

const optionsOf = (failure: keyof typeof FAILURES): BackendOptions => ({
  tools: [failure],
  lists: { prompts: [`{"name":"${failure}"}`], resources: [`{"uri":"x://${failure}","name":"r"}`] },
  on: ({ recorded: { method } }) => (ROUTED.has(method ?? '') ? FAILURES[failure] : undefined),
});

describe('what a client is told', () => {
  const backends = new Map<string, FixtureBackend>();
  let running: Running;
  let session: RawSession;
  before(async () => {
    for (const failure of Object.keys(FAILURES) as (keyof typeof FAILURES)[])
      backends.set(failure, await startBackend(optionsOf(failure)));
    const urls = Object.fromEntries([...backends].map(([name, { url }]) => [name, url]));
    const timeouts = { perWorkload: { silent: '600ms' } };
    running = await startRuntime(configFile(urls, { operational: { timeouts } }));
    session = await openSession(running.url);
  });
  after(async () => {
    await running.stop();
    for (const backend of backends.values()) await backend.close();
  });

  const rows: readonly (readonly [keyof typeof FAILURES, number, string])[] = [
    ['gone', 502, 'backend_unavailable'],
    ['garbage', 502, 'backend_unavailable'],
    ['broken', 502, 'backend_unavailable'],
    ['unauthenticated', 502, 'backend_unavailable'],
    ['silent', 504, 'backend_timeout'],
  ];
  for (const [failure, code, reason] of rows) {
    test(`a tool whose backend is ${failure}: a result with isError that a model can read`, async () => {
      const { status, json } = await session.call(`${failure}_${failure}`);
      assert.equal(status, 200);
      const { result } = json as {
        result: { isError: boolean; content: { text: string }[]; _meta: Record<string, Record<string, unknown>> };
      };
      assert.equal(result.isError, true);
      assert.match(result.content[0]?.text ?? '', new RegExp(`^backend "${failure}"`));
      assert.doesNotMatch(result.content[0]?.text ?? '', /127\.0\.0\.1|localhost/);
      const told = result._meta['vmcp.dev/error'];
      assert.equal(told?.['reason'], reason);
      assert.match(String(told?.['correlationId']), /^[0-9a-f-]{36}$/);
    });

    const others: readonly (readonly [string, object])[] = [
      ['prompts/get', { name: `${failure}_${failure}` }],
      ['resources/read', { uri: `x://${failure}` }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: `${failure}_${failure}` }, argument: {} }],
    ];
    for (const [method, params] of others) {
      test(`${method} whose backend is ${failure}: ${code}`, async () => {
        const answer = await session.request(method, params);
        assert.equal(answer.status, 200);
        const error = errorOf(answer);
        assert.equal(error.code, code);
        assert.equal(error.data['reason'], reason);
        assert.match(String(error.data['correlationId']), /^[0-9a-f-]{36}$/);
      });
    }
  }

  test("a backend's own error is relayed as it is, numbers and all", async () => {
    const { status, text } = await session.call('refuses_refuses');
    assert.equal(status, 200);
    assert.match(text, /"error":\{"code":-32099,"message":"mine","data":\{"big":12345678901234567890\}\}/);
  });

  const unknown: readonly (readonly [string, object])[] = [
    ['tools/call', { name: 'nobody' }],
    ['prompts/get', { name: 'nobody' }],
    ['resources/read', { uri: 'x://nobody' }],
    ['resources/subscribe', { uri: 'x://nobody' }],
    ['resources/unsubscribe', { uri: 'x://nobody' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'nobody' }, argument: {} }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'x://nobody' }, argument: {} }],
  ];
  for (const [method, params] of unknown) {
    test(`${method} of an unknown name ${JSON.stringify(params)}: -32602 unknown_name`, async () => {
      const answer = await session.request(method, params);
      assert.equal(answer.status, 200);
      assert.equal(errorOf(answer).code, -32_602);
      assert.equal(errorOf(answer).data['reason'], 'unknown_name');
    });
  }

  const invalid: readonly (readonly [string, object])[] = [
    ['prompts/get', {}],
    ['resources/read', { uri: 7 }],
    ['completion/complete', { ref: { type: 'ref/other', name: 'x' } }],
    ['completion/complete', { ref: { type: 'ref/prompt' } }],
    ['completion/complete', {}],
    ['logging/setLevel', { level: 'loud' }],
    ['prompts/list', { cursor: 'forged' }],
    ['resources/list', { cursor: 1 }],
  ];
  for (const [method, params] of invalid) {
    test(`${method} with ${JSON.stringify(params)}: -32602`, async () => {
      const answer = await session.request(method, params);
      assert.equal(answer.status, 200);
      assert.equal(errorOf(answer).code, -32_602);
    });
  }

  const malformed: readonly (readonly [string, string])[] = [
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['an empty batch', '[]'],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":7}'],
  ];
  for (const [what, body] of malformed) {
    test(`${what}: 400 and -32600`, async () => {
      const answer = await session.send(body);
      assert.equal(answer.status, 400);
      assert.equal(errorOf(answer).code, -32_600);
    });
  }

  test('the same id twice at once: refused, since answers could not be told apart', async () => {
    const silent = { jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'silent_silent' } };
    const first = session.send(silent);
    const second = await session.send(silent);
    assert.equal(errorOf(second).code, -32_600);
    await first;
  });
});
