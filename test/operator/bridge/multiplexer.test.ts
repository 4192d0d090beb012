import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { BOUNDS } from '../../../operator/bridge/index.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { INITIALIZE, openSession, post, type RawSession } from '../../fixtures/raw-client.ts';
import { attachScript, type BridgeUnderTest, type Said, SERVER_INFO, startBridge } from './bridge-under-test.ts';
import { untilHandshake } from './scripted-bridge.ts';

let clock: FrozenClock;
let bridge: BridgeUnderTest;
beforeEach(async () => {
  clock = frozenClock();
  bridge = await startBridge(clock);
});
afterEach(() => bridge.close());

const open = async (capabilities: object = {}): Promise<RawSession> => {
  await untilHandshake(bridge);
  return openSession(bridge.url, capabilities);
};

const isCall = ({ method }: Said): boolean => method === 'tools/call';
const named =
  (name: string) =>
  ({ params }: Said): boolean =>
    params?.['name'] === name;
const answerTo = ({ id }: Said, text: string): object => ({ jsonrpc: '2.0', id, result: { text } });
const resultIn = ({ json }: { readonly json: unknown }): unknown => (json as Said).result;
const errorIn = ({ json }: { readonly json: unknown }): Said['error'] => (json as Said).error;

describe('the handshake', () => {
  test('the server is initialized once, and notified so, however many clients come', async () => {
    const server = attachScript(bridge);
    const [first] = await Promise.all([open(), open()]);
    assert.deepEqual(
      server.heard.map(({ method }) => method),
      ['initialize', 'notifications/initialized'],
    );
    assert.deepEqual(server.heard[0]?.params?.['capabilities'], { sampling: {}, elicitation: { form: {}, url: {} } });
    const result = resultIn(first.initialize) as { protocolVersion: string; serverInfo: object };
    assert.equal(result.protocolVersion, '2025-11-25');
    assert.deepEqual(result.serverInfo, SERVER_INFO);
  });

  test('a client gets the revision it asks for', async () => {
    attachScript(bridge);
    await untilHandshake(bridge);
    const asking = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2025-03-26' } };
    const answer = await post(bridge.url, asking);
    assert.equal((resultIn(answer) as { protocolVersion: string }).protocolVersion, '2025-03-26');
  });

  test('a client that comes before the server waits a while, then is answered that it is away', async () => {
    const answer = post(bridge.url, INITIALIZE);
    await until('the wait', () => Promise.resolve(clock.pending().includes(BOUNDS.attachmentMs) || undefined));
    clock.advance(BOUNDS.attachmentMs);
    const { status, json } = await answer;
    assert.equal(status, 503);
    assert.match((json as Said).error?.message ?? '', /not ready/);
  });

  test('a client that comes while the server starts is answered as soon as it is there', async () => {
    const answer = post(bridge.url, INITIALIZE);
    await until('the wait', () => Promise.resolve(clock.pending().includes(BOUNDS.attachmentMs) || undefined));
    attachScript(bridge);
    assert.equal((await answer).status, 200);
  });

  test('a server that does not answer initialize is asked again', async () => {
    const server = attachScript(bridge, 'silent');
    await server.hears(({ method }) => method === 'initialize');
    clock.advance(BOUNDS.handshakeMs);
    await until('the warning', () => Promise.resolve(bridge.logged.find(({ level }) => level === 'warn')));
    clock.advance(10_000);
    const second = await server.hears(({ method, id }) => method === 'initialize' && id === 2);
    server.says({ jsonrpc: '2.0', id: second.id, result: { protocolVersion: '2024-11-05', capabilities: {} } });
    await untilHandshake(bridge);
  });

  test('a request of 2026-07-28 reads like one to an older server, so that its client falls back', async () => {
    attachScript(bridge);
    const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} };
    for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28' }]) {
      const { status, json } = await post(bridge.url, discover, headers);
      assert.equal(status, 400);
      assert.equal((json as Said).error?.code, -32_000);
    }
  });
});

describe('what is relayed', () => {
  test('keeps its bytes: big numbers, unknown members and string ids; only line ends go', async () => {
    const server = attachScript(bridge);
    const session = await open();
    const reply = session.send(
      '{"jsonrpc":"2.0",\n"id":"a b",\r\n"method":"tools/call","params":{"name":"x","arguments":{"n":12345678901234567890}}, "x-more":[1]}',
    );
    const { id } = await server.hears(isCall);
    assert.equal(
      server.lines.at(-1),
      `{"jsonrpc":"2.0", "id":${id},  "method":"tools/call","params":{"name":"x","arguments":{"n":12345678901234567890}}, "x-more":[1]}`,
    );
    server.says(`{"result":{"big":1e400,"future":{}},"jsonrpc":"2.0","id":${id}}`);
    assert.equal((await reply).text, '{"result":{"big":1e400,"future":{}},"jsonrpc":"2.0","id":"a b"}');
  });

  test('an unknown method goes to the server; the tasks of one connection do not', async () => {
    const server = attachScript(bridge);
    const session = await open();
    const reply = session.request('x/y', { a: 1 });
    const said = await server.hears(({ method }) => method === 'x/y');
    server.says({ jsonrpc: '2.0', id: said.id, error: { code: -1, message: 'no' } });
    assert.deepEqual(errorIn(await reply), { code: -1, message: 'no' });
    assert.equal(errorIn(await session.request('tasks/list', {}))?.code, -32_601);
  });

  test('a line that is no message disturbs nothing and is logged once in a while', async () => {
    const server = attachScript(bridge);
    const session = await open();
    server.says('Listening …', '{"half":', '[]', '{"jsonrpc":"2.0","id":null,"error":{}}');
    const reply = session.call('x');
    server.says(answerTo(await server.hears(isCall), 'fine'));
    assert.deepEqual(resultIn(await reply), { text: 'fine' });
    const warnings = bridge.logged.filter(({ level }) => level === 'warn');
    assert.deepEqual(
      warnings.map(({ fields }) => fields['text']),
      ['Listening …'],
    );
  });

  test('an answer that is too long fails the call that waits for it, and the next one works', async () => {
    const server = attachScript(bridge);
    const session = await open();
    const replies = [session.call('first'), session.call('last')];
    const [first, last] = await Promise.all(['first', 'last'].map((name) => server.hears(named(name))));
    const filler = 'x'.repeat(BOUNDS.lineBytes);
    server.says(`{"jsonrpc":"2.0","id":${first?.id},"result":{"filler":"${filler}"}}`);
    server.says(`{"result":{"filler":"${filler}"},"jsonrpc":"2.0","id":${last?.id}}`);
    for (const reply of await Promise.all(replies))
      assert.match(errorIn(reply)?.message ?? '', /more than the 16777216/);
    const reply = session.call('next');
    server.says(answerTo(await server.hears(named('next')), 'fine'));
    assert.deepEqual(resultIn(await reply), { text: 'fine' });
  });

  test('when the server does not take what it is sent, a call is refused', async () => {
    const server = attachScript(bridge);
    const session = await open();
    bridge.multiplexer.lost();
    bridge.multiplexer.resumed({ send: () => false });
    assert.equal(
      errorIn(await session.call('x'))?.message,
      'the server does not read what it is sent; try again later',
    );
    bridge.multiplexer.resumed(server.link);
  });
});

describe('the connection to the container', () => {
  test('lost and found again: calls under way fail, sessions live on, and the server is not initialized twice', async () => {
    const server = attachScript(bridge);
    const session = await open();
    const lost = session.call('lost');
    const { id } = await server.hears(named('lost'));
    bridge.multiplexer.lost();
    assert.match(errorIn(await lost)?.message ?? '', /connection to the server’s container was lost/);
    assert.equal(bridge.multiplexer.isReady, false);
    const waits = session.call('waits');
    await until('the wait', () => Promise.resolve(clock.pending().includes(BOUNDS.attachmentMs) || undefined));
    bridge.multiplexer.resumed(server.link);
    server.says(answerTo(await server.hears(named('waits')), 'found'));
    assert.deepEqual(resultIn(await waits), { text: 'found' });
    assert.equal(server.heard.filter(({ method }) => method === 'initialize').length, 1);
    // What was cut off in the middle is ended first; then the server hears whose answers nobody waits for.
    const again = server.lines.indexOf('');
    assert.deepEqual(JSON.parse(server.lines[again + 1] ?? ''), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id },
    });
  });

  test('a handshake that was lost on the way is made again', async () => {
    const server = attachScript(bridge, 'silent');
    await server.hears(({ method }) => method === 'initialize');
    bridge.multiplexer.lost();
    bridge.multiplexer.resumed(server.link);
    await server.hears(({ method, id }) => method === 'initialize' && id === 2);
  });

  test('a new run of the server ends the sessions of the old one', async () => {
    attachScript(bridge);
    const session = await open();
    attachScript(bridge);
    await untilHandshake(bridge);
    assert.equal((await session.call('x')).status, 404);
  });
});
