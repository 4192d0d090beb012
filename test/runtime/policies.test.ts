import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { PolicyDecision } from '../../runtime/call/index.ts';
import type { Features } from '../../runtime/features.ts';
import { taskIdOf } from '../../runtime/call/task-id.ts';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultOf } from '../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { as, filesWithPolicies, policyFeatures } from '../fixtures/policies.ts';
import { LISTEN_HEADERS, listenRequest, type Told } from '../fixtures/listening.ts';
import { post, type RawAnswer } from '../fixtures/raw-client.ts';
import { startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

const tool = (name: string, more: object = {}): string =>
  JSON.stringify({ name, inputSchema: { type: 'object' }, ...more });

const BACKEND = {
  tools: [tool('read', { annotations: { readOnlyHint: true } }), tool('write'), tool('drop')],
  lists: {
    prompts: ['{"name":"p"}', '{"name":"q"}'],
    resources: ['{"uri":"a://1","name":"1"}', '{"uri":"a://2","name":"2"}'],
    resourceTemplates: ['{"uriTemplate":"t://{x}","name":"t"}'],
  },
  capabilities: { prompts: {}, resources: { subscribe: true }, completions: {} },
};

interface Sent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

describe('policies', () => {
  let backend: FixtureBackend;
  let running: Running;
  const decisions: (PolicyDecision | undefined)[] = [];

  const observer: Features['observers'][number] = {
    aroundCall: async (_call, record, next) => {
      try {
        return await next();
      } finally {
        decisions.push(record.decision);
      }
    },
  };

  const authzOf = (policies: readonly string[], more: object = {}) => ({ type: 'cedar', policies, ...more });
  const filesWith = (authz: object | undefined) => filesWithPolicies({ a: backend.url }, authz);
  const start = async (authz: object | undefined): Promise<void> => {
    running = await startRuntime(
      filesWith(authz),
      {},
      { features: (deps) => ({ ...policyFeatures()(deps), observers: [observer] }) },
    );
  };
  const policies = (...texts: string[]): Promise<void> => start(authzOf(texts));

  beforeEach(async () => {
    decisions.length = 0;
    backend = await startBackend(BACKEND);
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  const send = (caller: Record<string, string>, { method, params }: Sent, text?: string): Promise<RawAnswer> => {
    const { name, uri, taskId } = params;
    const named = method === 'completion/complete' ? undefined : (name ?? uri ?? taskId);
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } });
    return post(running.url, text === undefined ? message : message.replace('"ARGUMENTS"', text), {
      ...caller,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof named === 'string' && { 'mcp-name': named }),
    });
  };
  /** `args`: JSON text. */
  const call = (caller: Record<string, string>, name: string, args = '{}'): Promise<RawAnswer> =>
    send(caller, { method: 'tools/call', params: { name, arguments: 'ARGUMENTS' } }, args);
  const isAdmitted = async (answer: Promise<RawAnswer>): Promise<boolean> => {
    const told = await answer;
    const json = told.json as { readonly error?: unknown };
    if (json.error === undefined) return true;
    assert.deepEqual([told.status, errorOf(told).code, errorOf(told).data.reason], [200, 403, 'forbidden'], told.text);
    return false;
  };
  const namesOf = async (caller: Record<string, string>, method = 'tools/list', key = 'tools'): Promise<string[]> => {
    const list = resultOf(await send(caller, { method, params: {} }))[key] as readonly Record<string, string>[];
    return list.map(({ name, uri, uriTemplate }) => uri ?? uriTemplate ?? name ?? '');
  };
  /** Which of these resources a client that listens is told of. */
  const watched = async (
    caller: Record<string, string>,
    resourceSubscriptions: readonly string[],
  ): Promise<unknown> => {
    const stop = new AbortController();
    const { body } = await fetch(running.url, {
      method: 'POST',
      headers: { ...LISTEN_HEADERS, ...caller },
      body: listenRequest({ resourceSubscriptions }),
      signal: stop.signal,
    });
    const first = Buffer.from((await body?.getReader().read())?.value ?? '').toString();
    stop.abort();
    const { params } = JSON.parse(/^data: (.*)$/m.exec(first)?.[1] ?? '{}') as Told;
    return (params?.['notifications'] as { readonly resourceSubscriptions?: unknown } | undefined)
      ?.resourceSubscriptions;
  };
  const calls = () => backend.requests.filter(({ method }) => method === 'tools/call').length;

  covers(
    'authz.policies.cedar-language',
    'authz.config.type-cedar',
    'authz.source.inline',
    'incoming.policies-before-forward',
  );
  test('a policy permits and another one forbids, before anything reaches the backend', async () => {
    await policies(
      '@id("readers") permit(principal, action == Action::"call_tool", resource in Backend::"a");',
      '@id("no-drop") forbid(principal, action, resource == Tool::"a_drop");',
    );
    assert.deepEqual(await namesOf(as('alice')), ['a_read', 'a_write']);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read')), true);
    const before = calls();
    assert.equal(await isAdmitted(call(as('alice'), 'a_drop')), false);
    assert.equal(calls(), before);
    assert.deepEqual(decisions, [
      { isAllowed: true, policies: ['readers'], failed: [], dryRun: [] },
      { isAllowed: false, policies: ['no-drop'], failed: [], dryRun: [] },
    ]);
  });

  test('what no policy permits is denied', async () => {
    await policies('permit(principal, action, resource == Tool::"a_read");');
    assert.deepEqual(await namesOf(as('alice')), ['a_read']);
    assert.deepEqual(await namesOf(as('alice'), 'prompts/list', 'prompts'), []);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write')), false);
  });

  test('a name that does not exist, and one that is denied, are refused in the same words', async () => {
    await policies('permit(principal, action, resource == Tool::"a_read");');
    const [denied, unknown] = [await call(as('alice'), 'a_write'), await call(as('alice'), 'a_nothing')];
    const words = ({ status, json }: RawAnswer) => {
      const { code, message, data } = (json as { readonly error: Record<string, object> }).error;
      return { status, code, message, data: { ...data, correlationId: '' } };
    };
    assert.deepEqual(words(denied), words(unknown));
  });

  covers('authz.absent.no-policies', 'authz.config.type-none');
  for (const [name, authz] of [
    ['without authz', undefined],
    ['with type none', { type: 'none', policies: ['forbid(principal, action, resource);'] }],
  ] as const) {
    test(`${name} no policy is evaluated`, async () => {
      await start(authz);
      assert.equal((await namesOf(as('alice'))).length, 3);
      assert.equal(await isAdmitted(call(as('alice'), 'a_drop')), true);
      assert.deepEqual(decisions, [undefined]);
    });
  }

  covers('authz.config.primary-upstream.empty-issued-token');
  test('claims of the token decide, as attributes of the principal and in the context', async () => {
    await policies(
      'permit(principal, action == Action::"call_tool", resource == Tool::"a_write") when { principal has claim_role && principal.claim_role == "admin" };',
      'permit(principal, action == Action::"call_tool", resource == Tool::"a_read") when { context has claim_groups && context.claim_groups.contains("staff") };',
      'permit(principal == Client::"root", action, resource);',
    );
    assert.deepEqual(await namesOf(as('alice', { role: 'admin' })), ['a_write']);
    assert.deepEqual(await namesOf(as('bob', { groups: ['staff', 'x'] })), ['a_read']);
    assert.deepEqual(await namesOf(as('root')), ['a_drop', 'a_read', 'a_write']);
    assert.equal(await isAdmitted(call(as('alice', { role: 'admin' }), 'a_write')), true);
    assert.equal(await isAdmitted(call(as('alice', { role: 'user' }), 'a_write')), false);
  });

  test('arguments decide, and a tool is listed where some would be admitted', async () => {
    await policies(
      'permit(principal, action == Action::"call_tool", resource == Tool::"a_write") when { context has arg_repo && context.arg_repo like "public/*" };',
      'permit(principal, action == Action::"call_tool", resource == Tool::"a_read") when { context has arg_n && context.arg_n < 10 };',
      'forbid(principal, action, resource == Tool::"a_read") when { context has arg_n && context.arg_n > 5 };',
      'permit(principal, action, resource == Tool::"a_drop") when { context has arg_x && context.arg_x == "a" };',
      'forbid(principal, action, resource == Tool::"a_drop") unless { context has arg_x && context.arg_x == "b" };',
    );
    assert.deepEqual(await namesOf(as('alice')), ['a_read', 'a_write']);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write', '{"repo":"public/x"}')), true);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write', '{"repo":"secret/x"}')), false);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write')), false);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read', '{"n":5}')), true);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read', '{"n":6}')), false);
  });

  test('arguments that two readers may read differently are denied where a policy reads them', async () => {
    await policies(
      'permit(principal, action, resource);',
      'forbid(principal, action, resource == Tool::"a_write") when { context has arg_repo && context.arg_repo == "secret" };',
    );
    for (const [args, expected] of [
      ['{"repo":"open"}', true],
      ['{"repo":null}', true],
      ['{"other":1.23456789,"other":2}', true],
      ['{"repo":"secret"}', false],
      ['{"\\u0072epo":"secret"}', false],
      ['{"\\\\":0,"\\u0072epo":"secret"}', false],
      ['{"repo":"secret","repo":"open"}', false],
      ['{"repo":"open","Repo":"secret"}', false],
      ['{"REPO":"secret"}', false],
      ['{"repo":1.23456}', false],
      ['{"repo":99999999999999999999}', false],
      ['{"repo":{"__entity":{"type":"Client","id":"root"}}}', false],
      ['{"repo":"\\ud800"}', false],
      [`{"repo":${'['.repeat(30)}${']'.repeat(30)}}`, false],
    ] as const)
      assert.equal(await isAdmitted(call(as('alice'), 'a_write', args)), expected, args);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read', '{"repo":"secret","repo":1}')), true);
  });

  covers('authz.entities-json.used');
  test('entities of entitiesJson decide', async () => {
    const entitiesJson = JSON.stringify([
      { uid: { type: 'Client', id: 'alice' }, attrs: { team: 'red' }, parents: [{ type: 'Group', id: 'admins' }] },
      { uid: { type: 'Tool', id: 'a_write' }, attrs: { owner: 'red' }, parents: [{ type: 'Kind', id: 'writing' }] },
    ]);
    await start(
      authzOf(
        [
          'permit(principal in Group::"admins", action, resource == Tool::"a_read");',
          'permit(principal, action, resource in Kind::"writing") when { principal has team && principal.team == resource.owner };',
        ],
        { entitiesJson },
      ),
    );
    assert.deepEqual(await namesOf(as('alice')), ['a_read', 'a_write']);
    assert.deepEqual(await namesOf(as('bob')), []);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write')), true);
    assert.equal(await isAdmitted(call(as('bob'), 'a_read')), false);
  });

  covers('authz.entities-json.default-empty');
  test('without entitiesJson nobody is in any group', async () => {
    await policies('permit(principal in Group::"admins", action, resource);');
    assert.deepEqual(await namesOf(as('alice')), []);
  });

  test('annotations of tools decide', async () => {
    await policies('permit(principal, action, resource) when { resource has readOnlyHint && resource.readOnlyHint };');
    assert.deepEqual(await namesOf(as('alice')), ['a_read']);
  });

  test('prompts, resources, completions, watches and tasks are decided like calls', async () => {
    await policies(
      'permit(principal == Client::"alice", action == Action::"get_prompt", resource == Prompt::"a_p");',
      'permit(principal == Client::"alice", action == Action::"read_resource", resource) when { ["a://1", "t://1"].contains(resource.uri) };',
      'permit(principal == Client::"bob", action == Action::"call_tool", resource == Tool::"a_read");',
    );
    const alice = as('alice');
    assert.deepEqual(await namesOf(alice, 'prompts/list', 'prompts'), ['a_p']);
    assert.deepEqual(await namesOf(alice, 'resources/list', 'resources'), ['a://1']);
    assert.deepEqual(await namesOf(alice, 'resources/templates/list', 'resourceTemplates'), ['t://{x}']);
    assert.deepEqual(await namesOf(as('bob'), 'resources/templates/list', 'resourceTemplates'), []);
    const completion = (ref: object): Sent => ({
      method: 'completion/complete',
      params: { ref, argument: { name: 'x', value: '' } },
    });
    const task = (method: string): Sent => ({ method, params: { taskId: taskIdOf({ backend: 'a', ownId: '1' }) } });
    const rows: readonly (readonly [Sent, alice: boolean, bob: boolean])[] = [
      [{ method: 'prompts/get', params: { name: 'a_p' } }, true, false],
      [{ method: 'prompts/get', params: { name: 'a_q' } }, false, false],
      [{ method: 'resources/read', params: { uri: 'a://1' } }, true, false],
      [{ method: 'resources/read', params: { uri: 'a://2' } }, false, false],
      [{ method: 'resources/read', params: { uri: 't://1' } }, true, false],
      [{ method: 'resources/read', params: { uri: 't://2' } }, false, false],
      [completion({ type: 'ref/prompt', name: 'a_p' }), true, false],
      [completion({ type: 'ref/prompt', name: 'a_q' }), false, false],
      [completion({ type: 'ref/resource', uri: 't://{x}' }), true, false],
      [task('tasks/get'), false, true],
      [task('tasks/cancel'), false, true],
    ];
    for (const [sent, forAlice, forBob] of rows)
      for (const [caller, expected] of [
        [alice, forAlice],
        [as('bob'), forBob],
      ] as const) {
        const answer = await send(caller, sent);
        const isRefused = (answer.json as { error?: { code: number } }).error?.code === 403;
        assert.equal(!isRefused, expected, `${JSON.stringify(sent)} ${caller['x-user']} ${answer.text}`);
      }
    assert.deepEqual(await watched(alice, ['a://1', 'a://2']), ['a://1']);
    assert.deepEqual(await watched(as('bob'), ['a://1', 'a://2']), []);
    const unknownTask: Sent = { method: 'tasks/get', params: { taskId: taskIdOf({ backend: 'none', ownId: '1' }) } };
    assert.equal(await isAdmitted(send(alice, unknownTask)), false);
  });

  test('an evaluation that fails denies, also where another policy permits', async () => {
    await policies(
      'permit(principal, action, resource);',
      '@id("faulty") forbid(principal, action, resource == Tool::"a_write") when { principal.claim_level > 3 };',
    );
    assert.deepEqual(await namesOf(as('alice')), ['a_drop', 'a_read']);
    assert.deepEqual(await namesOf(as('alice', { level: 3 })), ['a_drop', 'a_read', 'a_write']);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write')), false);
    assert.deepEqual(decisions, [{ isAllowed: false, policies: ['policy0'], failed: ['faulty'], dryRun: [] }]);
  });

  test('a policy in dry run is reported and not enforced', async () => {
    await policies(
      'permit(principal, action, resource) when { resource has readOnlyHint };',
      '@id("tighter") @dryRun forbid(principal, action, resource) unless { context has arg_ok };',
      '@id("wider") @dryRun permit(principal, action, resource == Tool::"a_write");',
      '@id("broken") @dryRun forbid(principal, action, resource) when { context.arg_none == 1 };',
    );
    assert.deepEqual(await namesOf(as('alice')), ['a_read']);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read')), true);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read', '{"ok":1,"none":2}')), true);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write')), false);
    assert.deepEqual(
      decisions.map((decision) => decision?.dryRun),
      [['tighter', 'broken'], [], ['wider']],
    );
  });

  test('nobody is a caller whom policies know nothing of', async () => {
    await policies('permit(principal, action, resource);');
    assert.deepEqual(await namesOf({}), []);
    assert.equal(await isAdmitted(call({}, 'a_read')), false);
  });

  covers('incoming.anonymous.no-access-control');
  test('with anonymous, policies are not evaluated', async () => {
    const authz = { type: 'cedar', policies: ['forbid(principal, action, resource);'] };
    running = await startRuntime([
      {
        name: 'config.yaml',
        text: JSON.stringify({
          incomingAuth: { type: 'anonymous', authz },
          backends: [{ name: 'a', url: backend.url, transport: 'streamable-http' }],
        }),
      },
    ]);
    assert.equal((await namesOf({})).length, 3);
    assert.equal(await isAdmitted(call({}, 'a_drop')), true);
  });

  test('other policies are in force at once, and policies that are broken leave the earlier ones', async () => {
    await policies('permit(principal, action, resource == Tool::"a_read");');
    assert.deepEqual(await namesOf(as('alice')), ['a_read']);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read')), true);
    assert.deepEqual(running.reload(filesWith(authzOf(['permit(principal, action, resource == Tool::"a_write");']))), {
      ok: true,
    });
    assert.deepEqual(await namesOf(as('alice')), ['a_write']);
    assert.equal(await isAdmitted(call(as('alice'), 'a_read')), false);
    assert.equal(running.reload(filesWith(authzOf(['permit(principal action, resource);']))).ok, false);
    assert.equal(await isAdmitted(call(as('alice'), 'a_write')), true);
    assert.deepEqual(running.reload(filesWith(undefined)), { ok: true });
    assert.equal(await isAdmitted(call(as('alice'), 'a_drop')), true);
  });
});
