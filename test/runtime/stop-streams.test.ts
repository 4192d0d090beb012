import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { STOP_TIMES } from '../../runtime/process/graceful-stop.ts';
import type { Running } from '../../runtime/start.ts';
import { answerJson, type FixtureBackend, textResult } from '../fixtures/backend.ts';
import { type FrozenClock } from '../fixtures/frozen-clock.ts';
import { listen } from '../fixtures/listening.ts';
import { type OldClient, openSse } from '../fixtures/old-client.ts';
import { INITIALIZE, post, type RawSession } from '../fixtures/raw-client.ts';
import { onCall, startGateway } from '../fixtures/gateway.ts';

/** So that only the stop ends a call. */
const PATIENT = { operational: { timeouts: { default: '10m' } } };

let backend: FixtureBackend;
let running: Running;
let session: RawSession;
let clock: FrozenClock;
let release: () => void;

beforeEach(async () => {
  ({ backend, running, session, clock } = await startGateway(PATIENT, { stopTimes: STOP_TIMES }));
  onCall(backend, () => (exchange) => {
    release = () => answerJson(textResult('finished'))(exchange);
  });
});
afterEach(() => backend.close());

/** Begins a stop, up to the moment in which streams are closed. */
const stopAfterServing = async (): Promise<{ readonly stopped: Promise<void> }> => {
  const stopped = running.stop();
  clock.advance(STOP_TIMES.servingMs);
  await new Promise((resolve) => setImmediate(resolve));
  return { stopped };
};

const SLOW = { jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } };

const slowCall = async (): Promise<{ readonly answer: ReturnType<RawSession['send']> }> => {
  const answer = session.send(SLOW);
  await backend.received(({ body }) => body.includes('"slow"'));
  return { answer };
};

const getStream = () => fetch(running.url, { headers: { accept: 'text/event-stream', 'mcp-session-id': session.id } });

describe('a graceful stop closes streams while a call runs on:', () => {
  test('those of GET', async () => {
    const streams = await Promise.all([getStream(), getStream()]);
    const { answer } = await slowCall();
    const { stopped } = await stopAfterServing();
    await Promise.all(streams.map((stream) => stream.text()));
    assert.equal((await session.request('ping')).status, 200);
    release();
    assert.match((await answer).text, /finished/);
    await stopped;
  });

  test('those of subscriptions/listen, with their result', async () => {
    const stream = await listen(running.url, { toolsListChanged: true });
    await stream.next();
    const { answer } = await slowCall();
    const { stopped } = await stopAfterServing();
    assert.ok((await stream.next())?.result);
    assert.equal(await stream.next(), undefined);
    assert.equal((await session.request('ping')).status, 200);
    release();
    assert.match((await answer).text, /finished/);
    await stopped;
  });
});

describe('a client of HTTP+SSE', () => {
  const calling = async (): Promise<OldClient> => {
    const client = await openSse(running.url);
    await post(client.address, INITIALIZE);
    await client.heard('"protocolVersion"');
    await post(client.address, SLOW);
    await backend.received(({ body }) => body.includes('"slow"'));
    return client;
  };

  test('gets the answer of a call that ends during a stop, and then the end of its stream', async () => {
    const client = await calling();
    const { stopped } = await stopAfterServing();
    assert.equal((await session.request('ping')).status, 200);
    release();
    await client.heard('finished');
    await client.ended;
    await stopped;
  });

  test('is notified on its stream of a call that a stop cuts off', async () => {
    const client = await calling();
    const { stopped } = await stopAfterServing();
    clock.advance(STOP_TIMES.callsMs - STOP_TIMES.servingMs);
    await client.heard('the server is stopping');
    await client.ended;
    await stopped;
  });
});

test('no stream is opened any more while a stop waits for calls', async () => {
  const { answer } = await slowCall();
  const { stopped } = await stopAfterServing();
  for (const [path, headers] of [
    ['/mcp', { 'mcp-session-id': session.id }],
    ['/sse', {}],
  ] as const) {
    const url = new URL(path, running.url);
    const refused = await fetch(url, { headers: { accept: 'text/event-stream', ...headers } });
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /"reason":"stopping"/);
  }
  release();
  await answer;
  await stopped;
});
