import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { BackendSet, UserBackendSessions, ClientBackendSessions } from '../../../../runtime/backends/index.ts';
import { ByteBudget } from '../../../../runtime/process/byte-budget.ts';
import type { Call, SessionClient } from '../../../../runtime/call/call.ts';
import type { Caller } from '../../../../runtime/call/caller.ts';
import type { Reply } from '../../../../runtime/call/reply.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { LIMITS } from '../../../../runtime/limits.ts';
import {
  answerJson,
  answerStatus,
  count,
  type Exchange,
  type FixtureBackend,
  startBackend,
  textResult,
} from '../../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../../fixtures/frozen-clock.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { silentClient } from '../../../fixtures/silent-client.ts';
import { asUser, credentialIn, openly, strategyDeps } from '../../../fixtures/strategies.ts';
import { TUNING, unheard } from '../one-backend.ts';

const user = (subject: string, issuer = 'https://idp.example'): Caller => userOf(subject, { issuer });
const ANYBODY: Caller = { kind: 'anonymous' };

let clock: FrozenClock;
let backend: FixtureBackend;
let backends: BackendSet;
let callers: UserBackendSessions;

const serve = async (connectStrategy = openly.connectStrategy): Promise<void> => {
  const clientInfo = { name: 'vmcp', version: '0' };
  backends = new BackendSet({
    clock,
    random: () => 1,
    clientInfo,
    limits: LIMITS.backend,
    answers: new ByteBudget(10_000_000),
    ...openly,
    connectStrategy,
    events: unheard,
    readFile: () => Promise.reject(new Error('no files')),
  });
  const health = { intervalMs: 1e9, timeoutMs: 10_000, unhealthyThreshold: 3 };
  const strategy = { type: 'unauthenticated' as const };
  const settings = { name: 'a', url: backend.url, transport: 'streamable-http' as const, strategy };
  backends.prepare([{ settings, tuning: { ...TUNING, health } }]).change();
  await backends.all()[0]?.firstListed;
};

/** In place of the one that asks nobody who is calling. */
const serveUsers = async (): Promise<void> => {
  await backends.destroy();
  backend.requests.splice(0);
  await serve((config) => asUser(clock.now)(config, strategyDeps({ clock })));
};

beforeEach(async () => {
  clock = frozenClock();
  backend = await startBackend();
  callers = new UserBackendSessions({ clock, idleMs: () => 60_000, users: 2 });
  await serve();
});
afterEach(async () => {
  await callers.close();
  await backends.destroy();
  await backend.close();
});

const callOver = (
  backendSessions: ClientBackendSessions,
  caller: Caller,
  { id = '1', era = 'modern', signal }: { id?: string; era?: Call['client']['era']; signal: AbortSignal },
): Promise<Reply> => {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo"}}`);
  const at = bytes.indexOf('"echo"');
  const given: Call = {
    caller,
    method: 'tools/call',
    name: 'echo',
    names: 'tool',
    origin: 'client',
    depth: 0,
    request: {
      bytes,
      id: Buffer.from(id),
      target: { start: at, end: at + 6 },
      params: { start: bytes.indexOf('{"name"'), end: bytes.length - 1 },
      meta: undefined,
    },
    backendSessions,
    signal,
    client: silentClient({ era, ask: () => Promise.reject(new VmcpError('client_cannot_answer', 'no')) }),
  };
  return backends.call(given, { kind: 'backend', backend: 'a', ownName: Buffer.from('"echo"') });
};

/** As a client of 2026-07-28 sends it. */
const call = async (caller: Caller, id = '1'): Promise<Reply> => {
  const controller = new AbortController();
  const { backendSessions, release } = callers.acquire({
    caller,
    capabilities: Buffer.from('{}'),
    cancel: (reason) => controller.abort(reason),
  });
  try {
    return await callOver(backendSessions, caller, { id, signal: controller.signal });
  } finally {
    release();
  }
};

/** Sessions of the backend that calls were made in. */
const sessionsOfCalls = (): readonly unknown[] =>
  backend.requests.filter(({ method }) => method === 'tools/call').map(({ headers }) => headers['mcp-session-id']);
const handshakes = (): number => count(backend, 'initialize') - 1;
const ends = (): number => backend.requests.filter(({ http }) => http === 'DELETE').length;

describe('callers without a session here, at a backend that keeps sessions', () => {
  test('a user has one there, from call to call, and no other user has it', async () => {
    await call(user('a'));
    await Promise.all([call(user('a')), call(user('a'))]);
    await call(user('b'));
    await call(user('a', 'https://other.example'));
    const [first, ...others] = sessionsOfCalls();
    assert.deepEqual(
      others.map((session) => session === first),
      [true, true, false, false],
    );
    assert.equal(new Set(sessionsOfCalls()).size, 3);
  });

  test('two anonymous calls never have the same', async () => {
    await call(ANYBODY);
    await call(ANYBODY);
    assert.equal(new Set(sessionsOfCalls()).size, 2);
    await backend.received(() => ends() === 2);
  });

  test('a user who asks nothing for long enough has none any more', async () => {
    await call(user('a'));
    clock.advance(59_999);
    await call(user('a'));
    clock.advance(59_999);
    assert.equal(ends(), 0);
    clock.advance(1);
    await backend.received(() => ends() === 1);
  });

  test('where there is no room, the user who has not been here longest makes it', async () => {
    for (const subject of ['a', 'b', 'a', 'c']) await call(user(subject));
    await backend.received(() => ends() === 1);
    await call(user('a'));
    assert.equal(handshakes(), 3);
    await call(user('b'));
    assert.equal(handshakes(), 4);
  });

  test('a user whose call is under way makes none', async () => {
    const held: Exchange[] = [];
    backend.set({
      on: ({ recorded }) =>
        recorded.method === 'tools/call' && held.length < 2 ? (exchange) => void held.push(exchange) : undefined,
    });
    const calls = [call(user('a')), call(user('b'))];
    while (held.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await call(user('c'));
    for (const exchange of held) answerJson(textResult('late'))(exchange);
    await Promise.all(calls);
    await call(user('a'));
    await call(user('b'));
    assert.equal(handshakes(), 3);
  });

  test('a session ends in the name of its user by the token that was presented last', async () => {
    await serveUsers();
    await call(userOf('a', { token: 'older' }));
    await call(userOf('a', { token: 'newer' }));
    clock.advance(60_000);
    const { headers } = await backend.received(({ http }) => http === 'DELETE');
    assert.equal(credentialIn(headers).token, 'newer');
  });

  test('equal ids that meet in one session stay apart, and each caller gets its own back', async () => {
    const replies = await Promise.all([call(user('a'), '"x"'), call(user('a'), '"x"')]);
    const ids = backend.requests
      .filter(({ method }) => method === 'tools/call')
      .map(({ body }) => JSON.parse(body) as { id: unknown });
    assert.notEqual(ids[0]?.id, ids[1]?.id);
    for (const reply of replies) {
      assert.ok(reply.kind === 'whole');
      assert.equal((JSON.parse(reply.body?.toString() ?? '') as { id: unknown }).id, 'x');
    }
  });

  test('calls that run when the runtime stops are ended', async () => {
    backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? () => {} : undefined) });
    const running = call(user('a'));
    await backend.received(({ method }) => method === 'tools/call');
    callers.cancelAllCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
    await assert.rejects(running, /the server is stopping/);
  });
});

describe('callers without a session here, at a backend that keeps none', () => {
  test('all use one handshake', async () => {
    backend.set({ isStateless: true });
    for (const caller of [ANYBODY, ANYBODY, user('a'), ANYBODY]) await call(caller);
    assert.equal(handshakes(), 1);
    assert.equal(ends(), 0);
  });

  test('until it begins to keep some: then none of them is shared', async () => {
    backend.set({ isStateless: true });
    await call(ANYBODY);
    backend.set({});
    for (let calls = 0; calls < 2; calls += 1) {
      const reply = await call(ANYBODY);
      assert.ok(reply.kind === 'whole');
      assert.match(reply.body?.toString() ?? '', /echo/);
    }
    const [, , ...later] = sessionsOfCalls();
    assert.equal(new Set(later).size, 2);
    assert.ok(later.every((session) => session !== undefined));
  });

  test('an answer of 400 that is about the call is the caller’s', async () => {
    backend.set({ isStateless: true });
    await call(ANYBODY);
    const error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad params"}}';
    backend.set({
      isStateless: true,
      on: ({ recorded }) => (recorded.method === 'tools/call' ? answerStatus(400, error) : undefined),
    });
    const reply = await call(ANYBODY);
    assert.ok(reply.kind === 'whole');
    assert.match(reply.body?.toString() ?? '', /bad params/);
    assert.equal(handshakes(), 1);
  });

  test('each user has one of their own where the backend depends on who is calling', async () => {
    await serveUsers();
    backend.set({ isStateless: true });
    for (const subject of ['a', 'b']) {
      await call(user(subject));
      clock.advance(60_000);
    }
    const introduced = backend.requests.filter(({ method }) => method === 'initialize');
    const subjects = introduced.map(({ headers }) => credentialIn(headers).subject);
    assert.deepEqual(subjects, ['probe', 'a', 'b']);
  });
});

describe('a client with a session here, at a backend that keeps none', () => {
  const client: SessionClient = {
    caller: ANYBODY,
    capabilities: Buffer.from('{"roots":{}}'),
    logLevel: undefined,
    isListening: false,
    notify: () => {},
    ask: () => Promise.reject(new VmcpError('client_cannot_answer', 'no')),
  };
  const { signal } = new AbortController();
  /** What each handshake of a caller said that its client can do. */
  const said = (): readonly unknown[] =>
    backend.requests
      .filter(({ method }) => method === 'initialize')
      .slice(1)
      .map(({ params }) => params['capabilities']);

  test('has a handshake of its own, with its own capabilities, whichever client was there before', async () => {
    backend.set({ isStateless: true });
    await call(ANYBODY);
    const backendSessions = new ClientBackendSessions({ owner: () => ANYBODY, client });
    await callOver(backendSessions, ANYBODY, { era: 'legacy', signal });
    assert.deepEqual(said(), [{}, { roots: {} }]);
  });

  test('does not share its handshake with callers without a session', async () => {
    backend.set({ isStateless: true });
    const backendSessions = new ClientBackendSessions({ owner: () => ANYBODY, client });
    await callOver(backendSessions, ANYBODY, { era: 'legacy', signal });
    await backendSessions.close();
    await call(ANYBODY);
    assert.deepEqual(said(), [{ roots: {} }, {}]);
  });
});

test('a client with a session here has 64 subscriptions that the gateway keeps, and one more once it ends one', async () => {
  const backendSessions = new ClientBackendSessions({ owner: () => ANYBODY });
  const [a] = backends.all();
  assert.ok(a);
  const change = (verb: 'subscribe' | 'unsubscribe', uri: string) =>
    backendSessions.watch(a, { method: `resources/${verb}`, name: uri, caller: ANYBODY });
  for (let place = 0; place < 64; place += 1) await change('subscribe', `x:${place}`);
  await assert.rejects(change('subscribe', 'x:64'), { code: 'busy' });
  await change('unsubscribe', 'x:7');
  await change('subscribe', 'x:64');
  await backendSessions.close();
});
