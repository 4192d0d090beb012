import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { reasonOf, resultText } from '../../fixtures/answers.ts';
import { answerJson, count, type Exchange, type FixtureBackend, hang, textResult } from '../../fixtures/backend.ts';
import { type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { onCall } from '../../fixtures/gateway.ts';
import { listen } from '../../fixtures/listening.ts';
import { openSession, post, type RawSession } from '../../fixtures/raw-client.ts';
import { type SseBridge } from '../../fixtures/sse-bridge.ts';
import { covers } from '../../requirements.ts';
import { eventually, startSseGateway, stopSseGateway } from './sse-gateway.ts';

let backend: FixtureBackend;
let bridge: SseBridge;
let running: Running;
let session: RawSession;
let clock: FrozenClock;

const serve = async (...given: Parameters<typeof startSseGateway>): Promise<void> => {
  ({ backend, bridge, running, session, clock } = await startSseGateway(...given));
};
afterEach(() => stopSseGateway({ backend, bridge, running, clock }));

/** Calls that the backend has got and not answered, as they come. */
const held = (): Exchange[] => {
  const exchanges: Exchange[] = [];
  onCall(backend, () => (exchange) => void exchanges.push(exchange));
  return exchanges;
};

const statusOf = () => running.status().backends[0];

describe('a session of HTTP+SSE', () => {
  beforeEach(async () => {
    await serve();
    await session.toolNames();
  });

  covers('aggregation.static.transport-sse');
  test('lists and calls tools; the backend is not probed for its revision', async () => {
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    assert.equal(resultText(await session.call('a_echo', { x: 1 })), 'echo {"x":1}');
    assert.equal(count(backend, 'server/discover'), 0);
    assert.equal(statusOf()?.status, 'ready');
  });

  test('is one stream for all calls of a client, whose answers find them in any order', async () => {
    const calls = held();
    const answers = [1, 2, 3].map((x) => session.call('a_echo', { x }));
    await eventually('three calls', () => calls.length === 3);
    for (const call of calls.toReversed()) answerJson(textResult(call.recorded.body))(call);
    for (const [index, answer] of (await Promise.all(answers)).entries())
      assert.match(resultText(answer), new RegExp(`"x":${index + 1}`));
    // That of the gateway itself, and that of the client.
    assert.equal(bridge.opened(), 2);
    assert.equal(new Set(calls.map(({ recorded }) => recorded.headers['mcp-session-id'])).size, 1);
  });

  test('ends with that of the client', async () => {
    await session.call('a_echo');
    assert.equal(bridge.streams.size, 2);
    await session.end();
    await eventually('the end of the stream', () => bridge.streams.size === 1);
  });

  test('that ends during a call ends only once the backend has taken that the call is cancelled', async () => {
    const calls = held();
    const answer = session.call('a_echo');
    await eventually('the call', () => calls.length === 1);
    const [stream] = [...bridge.streams.values()].slice(-1);
    let isTaken = false;
    const wasTaken = new Promise<boolean>((resolve) => stream?.on('close', () => resolve(isTaken)));
    bridge.onAccepted((body) => {
      isTaken ||= body.includes('notifications/cancelled');
    });
    await session.end();
    assert.equal(await wasTaken, true);
    assert.equal((await answer).text, '');
  });

  test('that is lost between calls is opened anew by the next one', async () => {
    await session.call('a_echo');
    bridge.drop();
    await eventually('the loss', () => bridge.streams.size === 0);
    assert.equal(resultText(await session.call('a_echo', { x: 2 })), 'echo {"x":2}');
    assert.equal(backend.requests.filter(({ body }) => body.includes('"x":2')).length, 1);
  });

  test('of the gateway itself is opened anew at once', async () => {
    const [before] = bridge.streams.keys();
    bridge.drop();
    await eventually('the loss', () => !bridge.streams.has(before ?? ''));
    // Over a real socket nothing says when the gateway has noticed.
    await eventually('a new stream', () => {
      clock.advance(500);
      return bridge.streams.size === 1;
    });
    assert.equal(statusOf()?.status, 'ready');
  });

  test('that is lost during a call fails it, and the call is not made again', async () => {
    const calls = held();
    const answer = session.call('a_echo', { x: 'once' });
    await eventually('the call', () => calls.length === 1);
    bridge.drop();
    assert.equal(reasonOf(await answer), 'backend_unavailable');
    onCall(backend, undefined);
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    assert.equal(backend.requests.filter(({ body }) => body.includes('"once"')).length, 1);
  });

  test('on which nothing comes any more is given up after a call that timed out', async () => {
    await session.call('a_echo');
    const opened = bridge.opened();
    backend.set({ on: () => hang });
    const answer = session.call('a_echo', { x: 'lost' });
    await backend.received(({ body }) => body.includes('"lost"'));
    clock.advance(30_000);
    assert.equal(reasonOf(await answer), 'backend_timeout');
    await backend.received(({ body }) => body.includes('"vmcp-ping"'));
    clock.advance(5_000);
    backend.set({});
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    assert.ok(bridge.opened() > opened);
  });

  test('stays when only the call was slow', async () => {
    await session.call('a_echo');
    const calls = held();
    const answer = session.call('a_echo');
    await eventually('the call', () => calls.length === 1);
    clock.advance(30_000);
    assert.equal(reasonOf(await answer), 'backend_timeout');
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.equal(told.params['requestId'], JSON.parse(calls[0]?.id ?? ''));
    await backend.received(({ body }) => body.includes('"vmcp-ping"'));
    const opened = bridge.opened();
    onCall(backend, undefined);
    await session.call('a_echo');
    assert.equal(bridge.opened(), opened);
  });

  test('is opened anew when the backend does not know it (404), and the call is made there', async () => {
    await session.call('a_echo');
    const opened = bridge.opened();
    bridge.forget();
    assert.equal(resultText(await session.call('a_echo', { x: 3 })), 'echo {"x":3}');
    assert.equal(backend.requests.filter(({ body }) => body.includes('"x":3')).length, 1);
    assert.equal(bridge.opened(), opened + 1);
  });

  test('ends when a message on it is too large; the call fails', async () => {
    onCall(backend, () => answerJson(textResult('x'.repeat(33 * 1024 * 1024))));
    const answer = await session.call('a_echo');
    assert.match(answer.text, /sent more than an answer may hold/);
    onCall(backend, undefined);
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
  });

  test('garbage on it fails the call that may have been meant', async () => {
    onCall(
      backend,
      () =>
        ({ response }) =>
          void response.end('no JSON'),
    );
    assert.match((await session.call('a_echo')).text, /sent what is not JSON-RPC/);
    onCall(backend, undefined);
    const opened = bridge.opened();
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    assert.equal(bridge.opened(), opened);
  });

  test('questions during several calls stop the clocks of all of them', async () => {
    const asking = await openSession(running.url, { elicitation: {} });
    const calls = held();
    const answers = [asking.call('a_echo', { x: 1 }), asking.call('a_echo', { x: 2 })];
    await eventually('the calls', () => calls.length === 2);
    const [, stream] = bridge.streams.values();
    const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: 'Who?' } };
    const pending = (): number => clock.pending().filter((ms) => ms === 30_000).length;
    const before = pending();
    stream?.write(`data: ${JSON.stringify(question)}\n\n`);
    await eventually('clocks that stand still', () => pending() <= before - 2);
    clock.advance(60_000);
    for (const call of calls) answerJson(textResult('done'))(call);
    for (const answer of await Promise.all(answers)) assert.match(answer.text, /done/);
    await asking.end();
  });

  test('a ping on it is answered and is no sign of work', async () => {
    const calls = held();
    const answer = session.call('a_echo');
    await eventually('the call', () => calls.length === 1);
    for (const ping of ['p1', 'p2']) {
      clock.advance(16_000);
      for (const stream of bridge.streams.values())
        stream.write(`data: {"jsonrpc":"2.0","id":"${ping}","method":"ping"}\n\n`);
      await backend.received(({ body }) => body === `{"jsonrpc":"2.0","id":"${ping}","result":{}}`);
    }
    assert.equal(reasonOf(await answer), 'backend_timeout');
  });
});

describe('a resource that a client has subscribed to', () => {
  const uri = 'a://1';
  const options = { hasStream: true, lists: { resources: [`{"uri":"${uri}","name":"1"}`] } };
  const subscriptions = (): number => count(backend, 'resources/subscribe');

  beforeEach(async () => {
    await serve({}, options);
    await session.toolNames();
    assert.equal((await session.request('resources/subscribe', { uri })).status, 200);
    assert.equal(subscriptions(), 1);
  });

  test('is subscribed to again after the stream was lost', async () => {
    bridge.drop();
    await eventually('a new subscription', () => {
      clock.advance(500);
      return subscriptions() === 2;
    });
    const [first, second] = backend.requests.filter(({ method }) => method === 'resources/subscribe');
    assert.equal(second?.params['uri'], uri);
    assert.notEqual(second?.headers['mcp-session-id'], first?.headers['mcp-session-id']);
  });

  test('is looked for again for as long as the backend is away', async () => {
    let refusals = 0;
    bridge.refuse(() => {
      refusals += 1;
    });
    bridge.drop();
    await eventually('some attempts', () => {
      clock.advance(500);
      return refusals >= 4;
    });
    bridge.refuse(undefined);
    await eventually('a new subscription', () => {
      clock.advance(500);
      return subscriptions() === 2;
    });
  });

  test('is not, once that is no longer wanted', async () => {
    await session.request('resources/unsubscribe', { uri });
    bridge.drop();
    await eventually('the stream of the gateway', () => {
      clock.advance(500);
      return bridge.streams.size === 1;
    });
    clock.advance(60_000);
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    assert.equal(subscriptions(), 1);
  });
});

describe('a client of 2026-07-28', () => {
  test('has a stream for the time of its call', async () => {
    await serve();
    await session.toolNames();
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { name: 'a_echo', arguments: { x: 1 }, _meta: meta };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a_echo' };
    const answer = await post(running.url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers);
    assert.equal(resultText(answer), 'echo {"x":1}');
    assert.equal(bridge.opened(), 2);
    await eventually('the end of the stream', () => bridge.streams.size === 1);
  });

  test('is notified of an updated resource, also after the stream was lost', async () => {
    const uri = 'a://1';
    await serve({}, { hasStream: true, lists: { resources: [`{"uri":"${uri}","name":"1"}`] } });
    await session.toolNames();
    const stream = await listen(running.url, { resourceSubscriptions: [uri] });
    await stream.next();
    await backend.received(({ method }) => method === 'resources/subscribe');
    bridge.drop();
    await eventually('a new subscription', () => {
      clock.advance(500);
      return count(backend, 'resources/subscribe') === 2;
    });
    const { headers } = backend.requests.findLast(({ method }) => method === 'resources/subscribe') ?? {};
    const name = String(headers?.['mcp-session-id']);
    await eventually('its stream', () => [...backend.streams.values()].includes(name));
    backend.tell(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`, name);
    assert.equal((await stream.next())?.method, 'notifications/resources/updated');
    await stream.close();
  });
});
