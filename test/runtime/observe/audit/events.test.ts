import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { AUDIT_EVENT_TYPES } from '../../../../runtime/config/index.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { openGate } from '../../../../runtime/gate/index.ts';
import { covers } from '../../../requirements.ts';
import { errorOf, resultText } from '../../../fixtures/answers.ts';
import { answerError, answerJson, answerStatus } from '../../../fixtures/backend.ts';
import { postAs } from '../../../fixtures/post-as.ts';
import { openSession, post } from '../../../fixtures/raw-client.ts';
import { bothOf } from '../../../fixtures/workflows.ts';
import { shortly, startAudited } from './audited.ts';

test('the published schema has the types that there are', async () => {
  const schema = JSON.parse(
    await readFile(new URL('../../../../docs/audit-event.schema.json', import.meta.url), 'utf8'),
  ) as { readonly properties: { readonly type: { readonly enum: readonly string[] } } };
  assert.deepEqual(schema.properties.type.enum, [...AUDIT_EVENT_TYPES]);
});

describe('an audit log', () => {
  covers(
    'audit.enabled.true',
    'audit.mcp-operations',
    'audit.event-types.empty-all',
    'audit.log-file.path',
    'crd.vmcp.config.audit-supported',
  );
  test('has an event for each operation, with caller, session, target and correlation id', async (t) => {
    const { url, running, events } = await startAudited(t);
    const session = await openSession(url);
    assert.equal(resultText(await session.call('a_t', { x: 1 })), 't {"x":1}');
    await session.toolNames();
    await session.request('ping');
    await session.request('no/such');
    await session.end();
    const log = await events();
    assert.deepEqual(shortly(log), [
      'mcp_initialize success',
      'mcp_notification success',
      'mcp_tool_call success a_t',
      'mcp_tools_list success',
      'mcp_ping success',
      'mcp_request failure',
      'mcp_session_end success',
    ]);
    const call = log[2] ?? assert.fail();
    assert.deepEqual(call.target, {
      endpoint: '/mcp',
      http_method: 'POST',
      method: 'tools/call',
      name: 'a_t',
      type: 'tool',
      backend: 'a',
      own_name: 't',
    });
    assert.deepEqual(call.subjects, { user: 'anonymous' });
    assert.equal(call.source?.value, '127.0.0.1');
    assert.equal(call.source?.extra.user_agent, 'node');
    assert.match(call.correlation_id ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(call.metadata.extra['http_status'], 200);
    assert.equal(call.component, 'test');
    // One session, whose id is nowhere in the log.
    assert.equal(new Set(log.map((event) => event.session)).size, 1);
    assert.ok(!JSON.stringify(log).includes(session.id));
    assert.equal(log[5]?.metadata.extra['error_code'], 'method_not_found');
    assert.equal(call.data, undefined);
    void running;
  });

  test('numbers its events from beginning to end, both of which it tells', async (t) => {
    const { url, allEvents } = await startAudited(t);
    await (await openSession(url)).call('a_t');
    const log = await allEvents();
    assert.deepEqual(
      log.map(({ sequence }) => sequence),
      log.map((_, index) => index + 1),
    );
    assert.equal(new Set(log.map(({ replica }) => replica)).size, 1);
    assert.equal(log[0]?.type, 'audit_started');
    const settings = log[0]?.metadata.extra['settings'] ?? assert.fail();
    assert.equal((settings as { readonly mode: string }).mode, 'batch');
    const last = log.at(-1) ?? assert.fail();
    const { written, ...others } = last.metadata.extra['settings'] as { readonly written: number };
    // How many of those before it were written by then is a matter of time.
    assert.ok(written < log.length, `${written} of ${log.length}`);
    assert.deepEqual(others, { dropped: 0, failedWrites: 0 });
    assert.equal(log.at(-1)?.type, 'audit_stopped');
  });

  covers('audit.component');
  test('has the component that was named', async (t) => {
    const { url, allEvents } = await startAudited(t, { audit: { component: 'my "gateway"' } });
    await openSession(url);
    assert.ok((await allEvents()).every(({ component }) => component === 'my "gateway"'));
  });

  test('has refusals that come before the body: Host, media type, unknown paths and methods', async (t) => {
    const { url, events } = await startAudited(t);
    await postAs(url, {}, { host: 'evil.example.com' });
    await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' });
    await post(url, '{"broken');
    await fetch(new URL('/elsewhere?token=hunter2', url));
    await fetch(new URL('/%zz', url));
    await post(url, 'x'.repeat(70_000));
    const log = await events();
    assert.deepEqual(
      log.map(({ type, outcome, target, metadata: { extra } }) => [
        `${type} ${outcome}`,
        target?.['endpoint'],
        extra['error_code'],
        extra['http_status'],
      ]),
      [
        ['mcp_request denied', '/mcp', 'host_not_allowed', 403],
        ['mcp_request failure', '/mcp', 'unsupported_media_type', 415],
        ['mcp_request failure', '/mcp', 'not_json', 400],
        ['http_request failure', '/elsewhere', 'not_found', 404],
        ['http_request failure', '/%zz', 'not_found', 404],
        ['mcp_request failure', '/mcp', 'body_too_large', 413],
      ],
    );
    assert.ok(!JSON.stringify(log).includes('hunter2'));
  });

  test('has the answers of routes beside MCP', async (t) => {
    const routes = () => [
      (app: { get: (path: string, answer: () => unknown) => unknown }) => {
        app.get('/well-known', () => ({ ok: true }));
        app.get('/denied', () => {
          throw new VmcpError('forbidden', 'no');
        });
      },
    ];
    const { url, events } = await startAudited(t, {}, { features: () => ({ routes }) });
    await fetch(new URL('/well-known', url));
    await fetch(new URL('/denied', url));
    assert.deepEqual(
      (await events()).map(({ type, outcome, target }) => `${type} ${outcome} ${target?.['endpoint']}`),
      ['http_request success /well-known', 'http_request denied /denied'],
    );
  });

  test('has logins: the first request with a token, and each one that is refused', async (t) => {
    const user = (token: string) =>
      ({
        kind: 'user',
        issuer: 'https://idp.example',
        subject: 'alice',
        claims: { azp: 'app', name: 'Alice' },
        token,
        expiresAt: 4e12,
        upstreamToken: async () => undefined,
      }) as const;
    const gate = {
      ...openGate,
      authenticate: ({ headers }: { readonly headers: { readonly authorization?: string | undefined } }) => {
        if (headers.authorization !== 'Bearer good-token-of-alice') throw new VmcpError('invalid_token', 'not valid');
        return user('good-token-of-alice');
      },
    };
    const { url, events } = await startAudited(
      t,
      { audit: { includeRequestData: true } },
      { features: () => ({ gate }) },
    );
    const ask = (token: string) =>
      post(url, { jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: `Bearer ${token}` });
    await ask('bad-token-of-mallory');
    await ask('good-token-of-alice');
    await ask('good-token-of-alice');
    const log = await events();
    assert.deepEqual(shortly(log), ['login denied', 'login success', 'mcp_ping failure', 'mcp_ping failure']);
    assert.equal(log[0]?.metadata.extra['error_code'], 'invalid_token');
    assert.equal(log[0]?.metadata.extra['http_status'], 401);
    assert.equal(log[0]?.subjects, undefined);
    const alice = { user: 'alice', user_id: 'alice', issuer: 'https://idp.example', client_id: 'app' };
    assert.deepEqual(log[1]?.subjects, alice);
    assert.deepEqual(log[2]?.subjects, alice);
    assert.ok(!/-token-of-/.test(JSON.stringify(log)));
  });

  test('has inner calls under their own names, with depth and the correlation id of the client’s call', async (t) => {
    const gate = {
      ...openGate,
      authorize: (access: { readonly name: string }, _target: unknown, record?: { decision: unknown }) => {
        const isAllowed = access.name !== 'a_u';
        if (record)
          record.decision = { isAllowed, policies: [`policy-of-${access.name}`], failed: [], dryRun: ['later'] };
        if (!isAllowed) throw new VmcpError('forbidden', 'forbidden');
      },
    };
    const backend = { tools: ['t', 'u'] };
    const features = () => ({ gate, ownTools: { workflow: bothOf('a_t', 'a_u') } });
    const { url, events } = await startAudited(t, { backend }, { features });
    const session = await openSession(url);
    assert.equal(errorOf(await session.call('both')).data.reason, 'forbidden');
    const log = (await events()).slice(2);
    assert.deepEqual(shortly(log), [
      'mcp_tool_call success a_t',
      'mcp_tool_call denied a_u',
      'mcp_tool_call denied both',
    ]);
    const [first, second, outer] = log;
    assert.equal(first?.metadata.extra['depth'], 1);
    assert.equal(first?.metadata.extra['origin'], 'workflow');
    assert.equal(outer?.metadata.extra['depth'], undefined);
    assert.equal(first?.correlation_id, outer?.correlation_id);
    assert.equal(first?.session, outer?.session);
    assert.equal(outer?.target?.['workflow_name'], 'both');
    assert.deepEqual(second?.policy, { allowed: false, ids: ['policy-of-a_u'], failed: [], dry_run: ['later'] });
    assert.equal(second?.metadata.extra['error_code'], 'forbidden');
  });

  covers('audit.enabled.default-false');
  test('is not there unless it was turned on', async (t) => {
    for (const enabled of [undefined, false]) {
      const { url, allEvents } = await startAudited(t, { audit: { enabled } });
      await (await openSession(url)).call('a_t');
      assert.deepEqual(await allEvents(), []);
    }
  });
});

describe('event types', () => {
  const typesWith = async (t: Parameters<typeof startAudited>[0], audit: object): Promise<readonly string[]> => {
    const { url, allEvents } = await startAudited(t, { audit });
    const session = await openSession(url);
    await session.call('a_t');
    await session.toolNames();
    return (await allEvents()).map(({ type }) => type);
  };

  covers('audit.event-types.selected');
  test('that are listed are all that is written', async (t) => {
    assert.deepEqual(await typesWith(t, { eventTypes: ['mcp_tool_call', 'mcp_tools_list'] }), [
      'mcp_tool_call',
      'mcp_tools_list',
    ]);
  });

  covers('audit.exclude-event-types');
  test('that are excluded are missing, and no others', async (t) => {
    assert.deepEqual(await typesWith(t, { excludeEventTypes: ['mcp_tool_call', 'mcp_notification'] }), [
      'audit_started',
      'mcp_initialize',
      'mcp_tools_list',
      'audit_stopped',
    ]);
  });

  covers('audit.exclude-event-types.precedence');
  test('in both lists are excluded', async (t) => {
    const audit = { eventTypes: ['mcp_tool_call', 'mcp_tools_list'], excludeEventTypes: ['mcp_tool_call'] };
    assert.deepEqual(await typesWith(t, audit), ['mcp_tools_list']);
  });
});

describe('an error in an answer of 200', () => {
  const callWith = async (t: Parameters<typeof startAudited>[0], result: string, audit: object = {}) => {
    const on = ({ recorded }: { readonly recorded: { readonly method: string | undefined } }) => {
      if (recorded.method !== 'tools/call') return undefined;
      return result.startsWith('!') ? answerError(result.slice(1)) : answerJson(result);
    };
    const { url, events } = await startAudited(t, { audit, backend: { tools: ['t'], on } });
    await (await openSession(url)).call('a_t');
    return (await events()).at(-1) ?? assert.fail('no event');
  };
  const ERROR = '!{"code":-32050,"message":"out of order"}';
  const IS_ERROR = '{"content":[{"type":"text","text":"no"}],"isError":true}';

  covers(
    'audit.detect-application-errors.default-true',
    'audit.detect-application-errors.true',
    'audit.detect-application-errors.independent-of-response-data',
  );
  test('is an application error, be it JSON-RPC’s or a tool’s, and nothing of it is kept', async (t) => {
    const event = await callWith(t, ERROR);
    assert.equal(event.outcome, 'application_error');
    assert.equal(event.metadata.extra['jsonrpc_error_code'], -32_050);
    assert.equal(event.data, undefined);
    assert.equal((await callWith(t, IS_ERROR)).outcome, 'application_error');
  });

  test('is not what only looks like one: in a text, in a nested value, or false', async (t) => {
    for (const result of [
      '{"content":[{"type":"text","text":"{\\"error\\":{}}"}],"isError":false}',
      '{"content":[],"structuredContent":{"error":{"code":1},"isError":true}}',
    ])
      assert.equal((await callWith(t, result)).outcome, 'success', result);
  });

  covers('audit.detect-application-errors.false');
  test('is a success where bodies are not inspected', async (t) => {
    for (const result of [ERROR, IS_ERROR])
      assert.equal((await callWith(t, result, { detectApplicationErrors: false })).outcome, 'success');
  });

  test('that an open circuit refuses is an error, as one of the backend is', async (t) => {
    const failureHandling = { circuitBreaker: { enabled: true, failureThreshold: 1 } };
    const { url, events, backend } = await startAudited(t, { more: { operational: { failureHandling } } });
    const session = await openSession(url);
    await session.toolNames();
    backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? answerStatus(503) : undefined) });
    await session.call('a_t');
    await session.call('a_t');
    const calls = (await events()).filter(({ type }) => type === 'mcp_tool_call');
    assert.deepEqual(
      calls.map(({ outcome }) => outcome),
      ['error', 'error'],
    );
  });

  covers('audit.detect-application-errors.only-2xx');
  test('counts for 2xx only: other answers are judged by their status', async (t) => {
    for (const detectApplicationErrors of [true, false]) {
      const { url, events } = await startAudited(t, { audit: { detectApplicationErrors } });
      await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const [event] = await events();
      assert.equal(event?.metadata.extra['http_status'], 400);
      assert.equal(event?.outcome, 'failure');
    }
  });
});
