import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { errorResponse } from '../../../runtime/edge/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
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

/** docs/decisions.md "Errors": what a client up to 2025-11-25 sees of each. */

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

describe('what a client is answered', () => {
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

  for (const code of ['circuit_open', 'busy'] as const) {
    test(`${code}, whatever was called`, () => {
      const error = new VmcpError(code, 'backend "a" …');
      const answerTo = (method: 'tools/call' | 'prompts/get'): unknown => {
        const { status, body } = errorResponse(error, { id: Buffer.from('1'), method, correlationId: 'c' });
        return [status, JSON.parse(String(body))];
      };
      const rpc = { circuit_open: 502, busy: 429 }[code];
      const data = { reason: code, correlationId: 'c' };
      const asError = [200, { jsonrpc: '2.0', id: 1, error: { code: rpc, message: error.message, data } }];
      assert.deepEqual(answerTo('prompts/get'), asError);
      if (code === 'busy') return assert.deepEqual(answerTo('tools/call'), asError);
      const [, { result }] = answerTo('tools/call') as [number, { result: Record<string, unknown> }];
      assert.deepEqual([result['isError'], result['_meta']], [true, { 'vmcp.dev/error': data }]);
    });
  }

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

  test('the same id twice at once: refused, since their answers could not be distinguished', async () => {
    const silent = { jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'silent_silent' } };
    const first = session.send(silent);
    const second = await session.send(silent);
    assert.equal(errorOf(second).code, -32_600);
    await first;
  });
});

describe('what refuses access', () => {
  const wire = (error: VmcpError, method: 'tools/call' | 'prompts/get' = 'tools/call') => {
    const { status, headers, body } = errorResponse(error, { id: Buffer.from('7'), method, correlationId: 'c' });
    return { status, headers, json: JSON.parse(String(body)) as unknown };
  };

  const challenges: readonly (readonly [string, VmcpError, number, string])[] = [
    ['no token', new VmcpError('invalid_token', 'a token is needed'), 401, 'Bearer'],
    [
      'a token that is refused',
      new VmcpError('invalid_token', 'the token has ended', { challenge: { error: 'invalid_token', scope: 'a b' } }),
      401,
      'Bearer error="invalid_token", scope="a b"',
    ],
    [
      'a token without a scope',
      new VmcpError('insufficient_scope', 'scopes are missing', { challenge: { scope: 'a b' } }),
      403,
      'Bearer error="insufficient_scope", scope="a b"',
    ],
    [
      'a token without a scope that is not named',
      new VmcpError('insufficient_scope', 'scopes are missing'),
      403,
      'Bearer error="insufficient_scope"',
    ],
  ];
  for (const [what, error, status, challenge] of challenges)
    test(`${what}: ${status}, what is asked for, and plain JSON`, () => {
      assert.deepEqual(wire(error), {
        status,
        headers: ['www-authenticate', challenge],
        json: { error: error.code, error_description: error.message, correlationId: 'c' },
      });
    });

  test('a sign-in that is missing: 401 that asks for the scope of the provider', () => {
    const challenge = { scope: 'upstream:github' };
    assert.deepEqual(wire(new VmcpError('login_required', 'sign in to github', { challenge })), {
      status: 401,
      headers: ['www-authenticate', 'Bearer error="insufficient_scope", scope="upstream:github"'],
      json: {
        jsonrpc: '2.0',
        id: 7,
        error: { code: 401, message: 'sign in to github', data: { reason: 'login_required', correlationId: 'c' } },
      },
    });
  });

  test('a policy: error 403, forbidden', () => {
    assert.deepEqual(wire(new VmcpError('forbidden', 'this is not allowed')), {
      status: 200,
      headers: [],
      json: {
        jsonrpc: '2.0',
        id: 7,
        error: { code: 403, message: 'this is not allowed', data: { reason: 'forbidden', correlationId: 'c' } },
      },
    });
  });

  for (const [retryAfterSeconds, header] of [
    [0.25, '1'],
    [3, '3'],
    [59.001, '60'],
    [0, '0'],
    [-1, '0'],
    [86_401, '86400'],
    [1e300, '86400'],
  ] as const)
    test(`a rate limit for ${retryAfterSeconds} s: error 429 with the exact time, and whole seconds in Retry-After`, () => {
      const answer = wire(new VmcpError('rate_limited', 'too many calls', { data: { retryAfterSeconds } }));
      const data = { reason: 'rate_limited', retryAfterSeconds, correlationId: 'c' };
      assert.deepEqual(answer, {
        status: 200,
        headers: ['retry-after', header],
        json: { jsonrpc: '2.0', id: 7, error: { code: 429, message: 'too many calls', data } },
      });
    });

  for (const retryAfterSeconds of [undefined, null, NaN, Infinity, '3', 'x\r\nset-cookie: a=b'])
    test(`a rate limit for ${JSON.stringify(String(retryAfterSeconds))}: no Retry-After`, () => {
      const error = new VmcpError('rate_limited', 'too many calls', { data: { retryAfterSeconds } });
      assert.deepEqual(wire(error).headers, []);
    });

  test('a credential that cannot be had: a result with isError for a tool, else error 502', () => {
    const error = new VmcpError('credential_unavailable', 'backend "a": no credential');
    const told = { reason: 'credential_unavailable', correlationId: 'c' };
    assert.deepEqual(wire(error).json, {
      jsonrpc: '2.0',
      id: 7,
      result: {
        content: [{ type: 'text', text: 'backend "a": no credential' }],
        isError: true,
        _meta: { 'vmcp.dev/error': told },
      },
    });
    assert.deepEqual(wire(error, 'prompts/get').json, {
      jsonrpc: '2.0',
      id: 7,
      error: { code: 502, message: 'backend "a": no credential', data: told },
    });
  });
});
