import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { BOUNDS } from '../../../operator/bridge/index.ts';
import { until } from '../../cluster/until.ts';
import type { FrozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import type { BridgeUnderTest, Said, ScriptedServer } from './bridge-under-test.ts';
import { answer, type Asked, asked, called, logMessage, startScriptedBridge } from './scripted-bridge.ts';

let clock: FrozenClock;
let bridge: BridgeUnderTest;
let server: ScriptedServer;
beforeEach(async () => {
  ({ clock, bridge, server } = await startScriptedBridge());
});
afterEach(() => bridge.close());

const open = (capabilities: object = {}): Promise<RawSession> => openSession(bridge.url, capabilities);
const call = (session: RawSession, name: string): Promise<Asked> => called(server, session, name);

const elicit = (id: unknown): object => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: '?' },
});
const settled = (id: unknown) => (said: Said) => said.id === id && said.method === undefined;
const before = ({ messages }: RawAnswer): readonly unknown[] => messages.slice(0, -1);

describe('what the server asks', () => {
  test('goes to the client whose calls alone are under way, and its answer back, ids and all', async () => {
    const [asked, idle] = await Promise.all([open({ elicitation: {} }), open({ elicitation: {} })]);
    const { reply, id } = await call(asked, 'form');
    server.says(elicit('server-1'));
    await asked.send({ jsonrpc: '2.0', id: 'vmcp-1', result: { action: 'accept' } });
    await idle.send({ jsonrpc: '2.0', id: 'vmcp-1', result: { action: 'decline' } });
    assert.deepEqual((await server.hears(settled('server-1'))).result, { action: 'accept' });
    server.says(answer(id));
    assert.deepEqual(before(await reply), [{ ...elicit('vmcp-1') }]);
  });

  test('is refused when calls of several clients are under way', async () => {
    const [one, other] = await Promise.all([open({ elicitation: {} }), open({ elicitation: {} })]);
    const calls = [await call(one, 'one'), await call(other, 'other')];
    server.says(elicit(7));
    assert.match((await server.hears(settled(7))).error?.message ?? '', /which of several clients/);
    server.says(...calls.map(({ id }) => answer(id)));
    for (const { reply } of calls) assert.deepEqual((await reply).messages, []);
  });

  test('is refused while a call that another client gave up may still be its reason', async () => {
    const [gone, other] = await Promise.all([open(), open({ elicitation: {} })]);
    const given = await call(gone, 'given-up');
    await gone.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await given.reply;
    const { reply, id } = await call(other, 'other');
    server.says(elicit(1));
    assert.ok((await server.hears(settled(1))).error);
    clock.advance(BOUNDS.abandonedMs);
    server.says(elicit(2));
    await until('the question', async () => (await other.send({ jsonrpc: '2.0', id: 'vmcp-1', result: {} }), true));
    assert.deepEqual((await server.hears(settled(2))).result, {});
    server.says(answer(id));
    await reply;
  });

  test('is refused when it is about roots, or when no call is under way', async () => {
    await open({ roots: {}, elicitation: {} });
    server.says({ jsonrpc: '2.0', id: 1, method: 'roots/list' }, elicit(2), { jsonrpc: '2.0', id: 3, method: 'ping' });
    assert.equal((await server.hears(settled(1))).error?.code, -32_601);
    assert.equal((await server.hears(settled(2))).error?.code, -32_603);
    assert.deepEqual((await server.hears(settled(3))).result, {});
  });

  test('is taken back at the client when the server cancels it', async () => {
    const asked = await open({ elicitation: {} });
    const { reply, id } = await call(asked, 'form');
    server.says(elicit(5), { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
    await server.hears(settled(5));
    server.says(answer(id));
    const [, cancelled] = before(await reply) as Said[];
    assert.deepEqual(cancelled?.params, { requestId: 'vmcp-1' });
  });
});

describe('what the server tells', () => {
  test('in its log goes to the client whose calls alone are under way, and to none while there are several', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const first = await call(one, 'one');
    server.says(logMessage('info', 'about one'));
    const second = await call(other, 'other');
    server.says(
      logMessage('error', 'about whom?'),
      answer(first.id),
      logMessage('info', 'about other'),
      answer(second.id),
    );
    assert.deepEqual(before(await first.reply), [logMessage('info', 'about one')]);
    assert.deepEqual(before(await second.reply), [logMessage('info', 'about other')]);
  });

  test('in its log is as much as the client wants, and the server is asked for what the most curious one wants', async () => {
    const [quiet, curious] = await Promise.all([open(), open()]);
    const set = async (session: RawSession, level: string): Promise<unknown> => {
      const { reply, id, params } = await asked(server, session, 'logging/setLevel', { level });
      server.says(answer(id));
      await reply;
      return params?.['level'];
    };
    assert.equal(await set(curious, 'debug'), 'debug');
    assert.equal(await set(quiet, 'error'), 'debug');
    const { reply, id } = await call(quiet, 'x');
    server.says(logMessage('info', 'not for it'), logMessage('alert', 'for it'), answer(id));
    assert.deepEqual(before(await reply), [logMessage('alert', 'for it')]);
  });

  test('of progress without a token of ours goes to no client', async () => {
    const session = await open();
    const { reply, id } = await call(session, 'x');
    server.says(
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } },
      answer(id),
    );
    assert.deepEqual((await reply).messages, []);
  });
});

describe('what a client does', () => {
  test('cancelling reaches the server under the id that it knows', async () => {
    const session = await open();
    const { reply, id } = await call(session, 'x');
    await session.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, reason: 'why not' },
    });
    const said = await server.hears(({ method }) => method === 'notifications/cancelled');
    assert.deepEqual(said.params, { requestId: id });
    assert.equal((await reply).text, '');
  });

  test('a subscription ends at the server with the last client that has it', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const subscribe = async (session: RawSession): Promise<void> => {
      const { reply, id } = await asked(server, session, 'resources/subscribe', { uri: 'a:b' });
      server.says(answer(id));
      await reply;
    };
    await subscribe(one);
    await subscribe(other);
    assert.deepEqual((await one.request('resources/unsubscribe', { uri: 'a:b' })).json, answer(2));
    const isUnsubscribed = ({ method }: Said): boolean => method === 'resources/unsubscribe';
    assert.equal(server.heard.some(isUnsubscribed), false);
    await other.end();
    assert.deepEqual((await server.hears(isUnsubscribed)).params, { uri: 'a:b' });
  });

  test('a session that is not used ends, and one that is in use does not', async () => {
    const [unused, used] = await Promise.all([open(), open()]);
    const { reply, id } = await call(used, 'x');
    clock.advance(BOUNDS.sessionTtlMs);
    assert.equal((await unused.call('y')).status, 404);
    // The longest that a call may take.
    assert.match((await reply).text, /not answered within 30 minutes/);
    server.says(answer(id));
    assert.equal((await used.request('ping')).status, 200);
  });

  test('not reading its stream costs it the stream, and no other client anything', async () => {
    const [stalled, reading] = await Promise.all([open(), open()]);
    const headers = { accept: 'text/event-stream', 'mcp-session-id': stalled.id };
    const closed = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    const stream = httpRequest(bridge.url, { headers }, (response) => {
      response.pause();
      response.on('close', closed.resolve).on('error', () => {});
      opened.resolve();
    });
    stream.on('error', () => {});
    stream.end();
    await opened.promise;
    const changed = {
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { filler: 'x'.repeat(500_000) },
    };
    for (let told = 0; told < 40; told += 1) server.says(changed);
    await closed.promise;
    const { reply, id } = await call(reading, 'x');
    server.says(answer(id));
    assert.equal((await reply).status, 200);
  });
});
