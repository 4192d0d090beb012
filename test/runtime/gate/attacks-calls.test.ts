import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { taskIdOf } from '../../../runtime/call/task-id.ts';
import { errorOf } from '../../fixtures/answers.ts';
import { listenRequest, type Told } from '../../fixtures/listening.ts';
import { type ProtectedGateway, startProtected } from '../../fixtures/protected-gateway.ts';
import { openSession, post, type RawAnswer } from '../../fixtures/raw-client.ts';

/** `read` with a Cyrillic letter. */
const CYRILLIC = 'r\u0435ad';

/** Alice may read, and push to what is hers; her team has tools that depend on a level. Mallory may do nothing. */
const POLICIES = [
  ...['Tool::"a_read"', 'Prompt::"a_open"', 'Resource::"a://open"'].map(
    (entity) => `permit(principal == Client::"alice", action, resource == ${entity});`,
  ),
  `permit(principal == Client::"alice", action, resource == Tool::"a_push")
   when { context has arg_owner && context.arg_owner == principal.claim_sub };`,
  'permit(principal, action, resource == Tool::"a_level") when { principal.claim_team == "x" && principal.claim_level > 3 };',
  '@id("guard") forbid(principal, action, resource == Tool::"a_guarded") when { principal.claim_level < 3 };',
  'permit(principal, action, resource == Tool::"a_guarded") when { principal.claim_team == "x" };',
];

const tool = (name: string): string => JSON.stringify({ name, inputSchema: { type: 'object' } });

const BACKEND = {
  tools: ['read', CYRILLIC, 'write', 'push', 'level', 'guarded'].map(tool),
  lists: {
    prompts: ['{"name":"open"}', '{"name":"secret"}'],
    resources: ['{"uri":"a://open","name":"1"}', '{"uri":"a://secret","name":"2"}'],
    resourceTemplates: ['{"uriTemplate":"secret://{x}","name":"t"}'],
  },
  capabilities: { prompts: {}, resources: { subscribe: true }, completions: {} },
};

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

suite('attacks with calls: none of them reaches the backend', () => {
  let gateway: ProtectedGateway;
  const tokens = new Map<string, string>();
  before(async () => {
    gateway = await startProtected({ policies: POLICIES, backend: BACKEND });
    for (const sub of ['alice', 'mallory'])
      tokens.set(sub, await gateway.provider.token({ sub, team: sub === 'alice' ? 'x' : 'y' }));
    tokens.set('odd', await gateway.provider.token({ sub: 'alice', team: 'x', level: 'none' }));
  });
  after(() => gateway.stop());

  const bearer = (who: string) => ({ authorization: `Bearer ${tokens.get(who) ?? ''}` });
  const reached = (): readonly string[] =>
    gateway.backend.requests.flatMap(({ method, params }) =>
      /^(tools\/call|prompts\/get|resources\/(read|subscribe)|completion\/|tasks\/)/.test(method ?? '')
        ? [`${method} ${JSON.stringify(params['name'] ?? params['uri'])}`]
        : [],
    );
  /** Runs an attack, and says what the backend has got of it. */
  const attacked = async <T>(attack: () => Promise<T>): Promise<T> => {
    const before = reached().length;
    const answer = await attack();
    assert.deepEqual(reached().slice(before), []);
    return answer;
  };
  const isForbidden = (answer: RawAnswer): void =>
    assert.deepEqual([answer.status, errorOf(answer).code, errorOf(answer).data.reason], [200, 403, 'forbidden']);
  const legacy = async (who: string) => openSession(gateway.running.url, {}, bearer(who));
  const named = (name: string) =>
    /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;
  /** A request of 2026-07-28. */
  const modern = (
    who: string,
    method: string,
    params: Record<string, unknown>,
    headers: Record<string, string> = {},
  ) => {
    const name = params['name'] ?? params['uri'] ?? params['taskId'];
    return post(
      gateway.running.url,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
      {
        ...bearer(who),
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(typeof name === 'string' && { 'mcp-name': named(name) }),
        ...headers,
      },
    );
  };

  test('what Alice may do, she can', async () => {
    const alice = await legacy('alice');
    assert.deepEqual((await alice.toolNames()).toSorted(), ['a_push', 'a_read']);
    const before = reached().length;
    await alice.call('a_read');
    await modern('alice', 'tools/call', { name: 'a_read', arguments: {} });
    await alice.call('a_push', { owner: 'alice' });
    assert.deepEqual(reached().slice(before), ['tools/call "read"', 'tools/call "read"', 'tools/call "push"']);
  });

  test('a tool of which the policies say nothing, in both eras, and one that does not exist: one refusal', async () => {
    const alice = await legacy('alice');
    for (const name of ['a_write', 'a_none', 'read', 'a_']) {
      isForbidden(await attacked(() => alice.call(name)));
      isForbidden(await attacked(() => modern('alice', 'tools/call', { name, arguments: {} })));
    }
  });

  test('look-alike names: other letters, cases, widths, blanks and invisible signs', async () => {
    const alice = await legacy('alice');
    const names = [
      `a_${CYRILLIC}`,
      'A_READ',
      'a_Read',
      'a_read ',
      ' a_read',
      'a_read\u0000',
      'a_read\u200b',
      '\uff41_read',
    ];
    for (const name of [...names, 'a_read/../a_write', 'a_re\u0061\u0301d', 'a_read\n', '__proto__', 'constructor'])
      isForbidden(await attacked(() => alice.call(name)));
    assert.ok(!(await alice.toolNames()).includes(`a_${CYRILLIC}`));
  });

  test('a policy whose evaluation fails: one that permits does not, and one that forbids does', async () => {
    for (const who of ['alice', 'odd']) {
      const session = await legacy(who);
      for (const name of ['a_level', 'a_guarded']) isForbidden(await attacked(() => session.call(name)));
    }
    const high = { authorization: `Bearer ${await gateway.provider.token({ sub: 'bob', team: 'x', level: 4 })}` };
    const bob = await openSession(gateway.running.url, {}, high);
    assert.deepEqual((await bob.toolNames()).toSorted(), ['a_guarded', 'a_level']);
  });

  test('Mcp-Name and Mcp-Method that say something else than the body', async () => {
    const call = { name: 'a_write', arguments: {} };
    for (const headers of [{ 'mcp-name': 'a_read' }, { 'mcp-method': 'tools/list' }, { 'mcp-name': '' }]) {
      const answer = await attacked(() => modern('alice', 'tools/call', call, headers));
      assert.deepEqual([answer.status, errorOf(answer).code], [400, -32_020]);
    }
  });

  const RAW: readonly (readonly [string, string, number, number])[] = [
    ['the name twice', '{"name":"a_read","name":"a_write","arguments":{}}', 400, -32_600],
    ['the name once more, escaped', String.raw`{"name":"a_read","n\u0061me":"a_write","arguments":{}}`, 400, -32_600],
    ['the name in another case', '{"name":"a_read","Name":"a_write","arguments":{}}', 400, -32_600],
    ['a name that is escaped', String.raw`{"name":"a_wr\u0069te","arguments":{}}`, 200, 403],
    ['a name that is none', '{"name":["a_read"],"arguments":{}}', 200, -32_602],
    ['an argument twice', '{"name":"a_push","arguments":{"owner":"bob","owner":"alice"}}', 200, 403],
    ['an argument in two cases', '{"name":"a_push","arguments":{"owner":"alice","Owner":"bob"}}', 200, 403],
    ['an argument of another owner', '{"name":"a_push","arguments":{"owner":"bob"}}', 200, 403],
    ['an argument that is left out', '{"name":"a_push","arguments":{}}', 200, 403],
    ['an argument of another type', '{"name":"a_push","arguments":{"owner":["alice"]}}', 200, 403],
  ];
  for (const [what, params, status, code] of RAW)
    test(`a call with ${what}`, async () => {
      const { send } = await legacy('alice');
      const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
      const answer = await attacked(() => send(message));
      assert.deepEqual([answer.status, errorOf(answer).code], [status, code], answer.text);
    });

  test('several calls in one message, the first of which is permitted', async () => {
    const { send } = await legacy('alice');
    const call = (name: string) => ({
      jsonrpc: '2.0',
      id: name,
      method: 'tools/call',
      params: { name, arguments: {} },
    });
    const answer = await attacked(() => send([call('a_read'), call('a_write')]));
    assert.equal(answer.status, 400);
  });

  test('an unknown method, and one that is written in another way', async () => {
    const { request } = await legacy('alice');
    for (const method of [
      'tools/execute',
      'Tools/Call',
      'tools/call ',
      'resources/write',
      'sampling/createMessage',
      '',
    ]) {
      const answer = await attacked(() => request(method, { name: 'a_write', uri: 'a://secret', arguments: {} }));
      assert.ok([-32_601, -32_600].includes(errorOf(answer).code), `${method}: ${answer.text}`);
    }
  });

  test('reading, watching and completing what may not be read', async () => {
    const { request } = await legacy('alice');
    const uri = 'a://secret';
    isForbidden(await attacked(() => request('resources/read', { uri })));
    isForbidden(await attacked(() => request('resources/subscribe', { uri })));
    isForbidden(await attacked(() => request('resources/read', { uri: 'secret://x' })));
    isForbidden(await attacked(() => request('prompts/get', { name: 'a_secret' })));
    const argument = { name: 'x', value: '' };
    for (const ref of [
      { type: 'ref/prompt', name: 'a_secret' },
      { type: 'ref/resource', uri: 'secret://{x}' },
    ])
      isForbidden(await attacked(() => request('completion/complete', { ref, argument })));
  });

  test('listening for a resource that may not be read: it is not acknowledged', async () => {
    const acknowledged = await attacked(async () => {
      const stop = new AbortController();
      const { body } = await fetch(gateway.running.url, {
        method: 'POST',
        headers: {
          ...bearer('alice'),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'subscriptions/listen',
        },
        body: listenRequest({ resourceSubscriptions: ['a://secret'] }),
        signal: stop.signal,
      });
      const first = Buffer.from((await body?.getReader().read())?.value ?? '').toString();
      stop.abort();
      return (JSON.parse(/^data: (.*)$/m.exec(first)?.[1] ?? '{}') as Told).params?.['notifications'];
    });
    assert.deepEqual((acknowledged as { resourceSubscriptions?: unknown }).resourceSubscriptions ?? [], []);
  });

  test('a task id of another user, for who may use no tool of its backend: as one that leads nowhere', async () => {
    const idAt = (backend: string) => taskIdOf({ backend, ownId: '1' }) ?? '';
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      for (const taskId of [idAt('a'), idAt('nowhere'), 'invented'])
        isForbidden(await attacked(() => modern('mallory', method, { taskId, inputResponses: {} })));
  });
});
