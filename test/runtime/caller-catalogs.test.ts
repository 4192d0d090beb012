import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Features } from '../../runtime/features.ts';
import { openGate } from '../../runtime/gate/index.ts';
import type { ConnectStrategy } from '../../runtime/outgoing/index.ts';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { errorOf, reasonOf, resultOf, resultText } from '../fixtures/answers.ts';
import { answerJson, answerStatus, type Exchange, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../fixtures/gates.ts';
import { openSession, post, type RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { asUser, credentialIn } from '../fixtures/strategies.ts';

const soon = { timeoutMs: 5_000, intervalMs: 1 };

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const dependent: ConnectStrategy = () => ({ dependsOnCaller: true, close: async () => {} });

/** A backend that lists to each user a tool of their own, and tells nothing to the gateway itself. */
const ofEachUser = ({ recorded: { headers, method } }: Exchange) => {
  const { subject } = credentialIn(headers);
  if (subject === 'probe') return answerStatus(401);
  return method === 'tools/list'
    ? answerJson(`{"tools":[{"name":"of-${subject}","inputSchema":{"type":"object"}}]}`)
    : undefined;
};

describe('a backend that lists something else to each user', () => {
  let clock: FrozenClock;
  let backends: Readonly<Record<'own' | 'all', FixtureBackend>>;
  let running: Running;

  /** A request of 2026-07-28. */
  const ask = (subject: string, method: string, params: { readonly name?: string } = {}): Promise<RawAnswer> =>
    post(
      running.url,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
      {
        ...bearer(subject, clock.now() + 60_000),
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(params.name !== undefined && { 'mcp-name': params.name }),
      },
    );
  const toolsOf = async (subject: string): Promise<readonly string[]> => {
    const { tools } = resultOf(await ask(subject, 'tools/list')) as { readonly tools: readonly { name: string }[] };
    return tools.map(({ name }) => name);
  };

  beforeEach(async () => {
    clock = frozenClock();
    backends = {
      own: await startBackend({ isStateless: true, on: ofEachUser }),
      all: await startBackend({ tools: ['t'] }),
    };
    const connect = asUser(clock.now);
    const gate = {
      ...tokenGate(clock.now),
      visible: () => ({ key: 'all but t', isVisible: ({ name }: { readonly name: string }) => name !== 'all_t' }),
    };
    running = await startRuntime(
      configFile(
        { own: backends.own.url, all: backends.all.url },
        { operational: { failureHandling: { partialFailureMode: 'best_effort' } } },
      ),
      {},
      {
        clock,
        features: () => ({
          gate,
          connectStrategy: (config, deps) =>
            deps.backend.name === 'own' ? connect(config, deps) : { dependsOnCaller: false, close: async () => {} },
        }),
      },
    );
  });
  afterEach(async () => {
    await running.stop();
    await Promise.all(Object.values(backends).map((backend) => backend.close()));
  });

  test('is listed and called with each user’s own credential', async () => {
    assert.deepEqual(await toolsOf('x'), ['own_of-x']);
    assert.deepEqual(await toolsOf('y'), ['own_of-y']);
    assert.equal(resultText(await ask('x', 'tools/call', { name: 'own_of-x' })), 'of-x undefined');
    const subjects = backends.own.requests.map(({ headers }) => credentialIn(headers).subject);
    assert.deepEqual(new Set(subjects), new Set(['probe', 'x', 'y']));
  });

  test('has for nobody what it lists to another, nor what the gateway does not let them see', async () => {
    await toolsOf('x');
    for (const name of ['own_of-x', 'all_t', 'no_such'])
      assert.equal(errorOf(await ask('y', 'tools/call', { name })).data.reason, 'unknown_name', name);
    const calls = [backends.own, backends.all].flatMap(({ requests }) => requests.map(({ method }) => method));
    assert.equal(calls.includes('tools/call'), false);
  });

  test('keeps what a user last saw of it while it fails, and says why of what nobody has seen', async () => {
    await toolsOf('x');
    const fails = (status: number) => backends.own.set({ isStateless: true, on: () => answerStatus(status) });
    fails(503);
    clock.advance(61_000);
    await toolsOf('x');
    await until('the lists are old', async () => ((await toolsOf('x')).length === 0 ? true : undefined), soon);
    backends.own.set({ isStateless: true, on: ofEachUser });
    assert.equal(resultText(await ask('x', 'tools/call', { name: 'own_of-x' })), 'of-x undefined');
    fails(403);
    assert.equal(reasonOf(await ask('z', 'tools/call', { name: 'own_of-z' })), 'backend_unavailable');
  });

  test('is of the revision that it is, whatever it tells one of its users', async () => {
    const modern = ({ recorded: { headers, method } }: Exchange) => {
      const { subject } = credentialIn(headers);
      if (subject === 'probe') return answerStatus(401);
      if (subject === 'mallory' || subject === 'trudy') return answerStatus(404);
      if (method === 'server/discover')
        return answerJson('{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}');
      if (method === 'tools/list')
        return answerJson('{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}');
      return answerJson('{"resultType":"complete","content":[{"type":"text","text":"fine"}]}');
    };
    backends.own.set({ on: modern });
    assert.deepEqual(await toolsOf('trudy'), []);
    assert.deepEqual(await toolsOf('alice'), ['own_t']);
    assert.deepEqual(await toolsOf('mallory'), []);
    assert.equal(resultText(await ask('alice', 'tools/call', { name: 'own_t' })), 'fine');
  });

  test('keeps no session for what it has listed to a user', async () => {
    backends.own.set({ on: ofEachUser });
    assert.deepEqual(await toolsOf('x'), ['own_of-x']);
    const { headers } = await backends.own.received(({ http }) => http === 'DELETE');
    assert.equal(credentialIn(headers).subject, 'x');
  });

  test('makes the lists of nobody fit to be kept for others', async () => {
    assert.equal(resultOf(await ask('x', 'tools/list'))['cacheScope'], 'private');
  });

  test('is no longer listed to anybody once it is gone from the configuration', async () => {
    await toolsOf('x');
    running.reload(configFile({ all: backends.all.url }));
    assert.deepEqual(await toolsOf('x'), []);
  });
});

test('what a caller may not see is found by nobody’s name for it', async (t) => {
  const backend = await startBackend({
    tools: ['t', 'u'],
    lists: { resources: ['{"uri":"a://1","name":"1"}'], resourceTemplates: ['{"uriTemplate":"b://{x}","name":"b"}'] },
  });
  // What policy rests on may have to be asked for first.
  const visible = async () => ({
    key: 'u',
    isVisible: ({ name }: { readonly name: string }) => name === 'a_u' || name === 'b://2',
  });
  const running = await startRuntime(
    configFile({ a: backend.url }),
    {},
    { features: () => ({ gate: { ...openGate, visible } }) },
  );
  t.after(async () => {
    await running.stop();
    await backend.close();
  });
  const ask = (method: string, params: object, headers: Record<string, string> = {}) =>
    post(
      running.url,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers },
    );
  const { tools } = resultOf(await ask('tools/list', {})) as { readonly tools: readonly { name: string }[] };
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['a_u'],
  );
  const reason = async (answer: Promise<RawAnswer>) => errorOf(await answer).data.reason;
  assert.equal(await reason(ask('tools/call', { name: 'a_t' }, { 'mcp-name': 'a_t' })), 'unknown_name');
  assert.equal(await reason(ask('resources/read', { uri: 'a://1' }, { 'mcp-name': 'a://1' })), 'unknown_name');
  const uri = 'b://2';
  assert.equal(
    await reason(ask('resources/read', { uri }, { 'mcp-name': uri })),
    'unknown_name',
    'its template is hidden',
  );
});

test('what a caller may see changes with the policies, in lists as well as by its name', async (t) => {
  const backend = await startBackend({ tools: ['t', 'u'] });
  const hiding = (hidden: string) => configFile({ a: backend.url }, { metadata: { hidden } });
  const running = await startRuntime(
    hiding('a_t'),
    {},
    {
      features: ({ config }) => {
        const policies = config.live(
          ({ metadata }) => metadata,
          (of) => of,
        );
        const isVisible = ({ name }: { readonly name: string }) => name !== policies()?.['hidden'];
        // Every caller is of one class, whatever the policies are.
        return { gate: { ...openGate, policies, visible: () => ({ key: 'all', isVisible }) } };
      },
    },
  );
  t.after(async () => {
    await running.stop();
    await backend.close();
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['a_u']);
  running.reload(hiding('a_u'));
  assert.deepEqual(await session.toolNames(), ['a_t']);
  assert.equal(errorOf(await session.call('a_u')).data.reason, 'forbidden');
});

describe('whether the lists of anybody may be kept for others', () => {
  const shows = { key: 'all', isVisible: () => true };
  const rows: readonly (readonly [string, () => Partial<Features>, Record<string, string>, 'public' | 'private'])[] = [
    ['where all are anonymous: they may', () => ({}), {}, 'public'],
    [
      'where some callers see less: they may not',
      () => ({ gate: { ...openGate, visible: () => shows } }),
      {},
      'private',
    ],
    ['where there are policies: they may not', () => ({ gate: { ...openGate, policies: () => ({}) } }), {}, 'private'],
    ['where a backend depends on the caller: they may not', () => ({ connectStrategy: dependent }), {}, 'private'],
    ['where they are a user’s: they may not', () => ({ gate: tokenGate(Date.now) }), bearer('x', 9e15), 'private'],
  ];
  for (const [what, features, headers, scope] of rows)
    test(what, async (t) => {
      const backend = await startBackend({ tools: ['t'] });
      const running = await startRuntime(configFile({ a: backend.url }), {}, { features });
      t.after(async () => {
        await running.stop();
        await backend.close();
      });
      const answer = await post(
        running.url,
        { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } },
        { ...headers, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
      );
      assert.equal(resultOf(answer)['cacheScope'], scope);
    });
});
