import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { until } from '../cluster/until.ts';
import { STOP_TIMES } from '../../runtime/process/graceful-stop.ts';
import type { Running } from '../../runtime/start.ts';
import { answerJson, answerSse, type FixtureBackend, hang, textResult } from '../fixtures/backend.ts';
import { connectByHand, postBytes } from '../fixtures/by-hand.ts';
import { type FrozenClock } from '../fixtures/frozen-clock.ts';
import { INITIALIZE, post, type RawSession } from '../fixtures/raw-client.ts';
import { onCall, startGateway } from '../fixtures/gateway.ts';

/** So that only the stop ends a call. */
const PATIENT = { operational: { timeouts: { default: '10m' } } };

const slowCall = { jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } };

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
afterEach(async () => {
  const stopped = running.stop();
  clock.advance(5_000);
  await session.request('ping').catch(() => undefined);
  clock.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(60_000);
  await backend.close();
  await stopped;
});

const readiness = async (): Promise<number> => (await fetch(`${running.managementUrl}/readyz`)).status;

describe('a graceful stop', () => {
  test('first turns readiness off and serves on for 5 s, new sessions too', async () => {
    assert.equal(await readiness(), 200);
    void running.stop();
    assert.equal(await readiness(), 503);
    assert.equal((await post(running.url, INITIALIZE)).status, 200);
    assert.equal((await session.request('ping')).status, 200);
  });

  test('from its first word on asks clients for new connections, which lead to another replica', async () => {
    assert.notEqual((await session.request('ping')).headers.get('connection'), 'close');
    void running.stop();
    assert.equal((await session.request('ping')).headers.get('connection'), 'close');
  });

  test('asks so on every path, those that nothing is at included', async () => {
    const { origin } = new URL(running.url);
    const paths = ['/health', '/.well-known/oauth-protected-resource', '/nothing'];
    const said = async (path: string) => (await fetch(new URL(path, origin))).headers.get('connection');
    for (const path of paths) assert.notEqual(await said(path), 'close', path);
    void running.stop();
    for (const path of paths) assert.equal(await said(path), 'close', path);
  });

  test('asks so where a call has run since before the stop, too', async () => {
    const call = session.send(slowCall);
    await backend.received(({ body }) => body.includes('"slow"'));
    void running.stop();
    release();
    assert.equal((await call).headers.get('connection'), 'close');
  });

  test('gives no client the connection of a stream back, which would be refused there or cut', async () => {
    const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"late"}}';
    onCall(backend, () => answerSse(textResult('finished'), [message]));
    const logged = await session.send(slowCall);
    assert.match(logged.text, /notifications.message/);
    assert.equal(logged.headers.get('connection'), 'close');
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session.id };
    const stream = await fetch(running.url, { headers });
    assert.equal(stream.headers.get('connection'), 'close');
    await stream.body?.cancel();
  });

  test('closes connections that nothing came on while it still served, calls under way or not', async (t) => {
    const idle = connectByHand(t, running.url);
    idle.socket.write(postBytes(JSON.stringify(INITIALIZE)));
    await until('its answer', async () => (idle.text().includes('"result"') ? true : undefined), { intervalMs: 5 });
    const call = session.send(slowCall);
    await backend.received(({ body }) => body.includes('"slow"'));
    const stopped = running.stop();
    assert.equal(idle.isClosed(), false);
    clock.advance(5_000);
    await idle.closed;
    release();
    assert.match((await call).text, /finished/);
    await stopped;
  });

  test('then refuses new sessions while a call runs on and gets its answer', async () => {
    const call = session.send(slowCall);
    await backend.received(({ body }) => body.includes('"slow"'));
    const stopped = running.stop();
    clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
    const refused = await post(running.url, INITIALIZE);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('connection'), 'close');
    release();
    assert.match((await call).text, /finished/);
    await stopped;
    await assert.rejects(fetch(running.url));
    assert.ok(
      backend.requests.some(({ http }) => http === 'DELETE'),
      'the backend is told that the sessions are over',
    );
  });

  test('answers what still runs after 40 s with backend_unavailable', async () => {
    backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const call = session.send(slowCall);
    await backend.received(({ body }) => body.includes('"slow"'));
    const stopped = running.stop();
    clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(34_999);
    assert.equal(await readiness(), 503);
    clock.advance(1);
    const { result } = (await call).json as { result: { isError: boolean; _meta: Record<string, { reason: string }> } };
    assert.equal(result.isError, true);
    assert.equal(result._meta['vmcp.dev/error']?.reason, 'backend_unavailable');
    await stopped;
  });

  test('answers calls of clients without a session then, too', async () => {
    backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a_echo' };
    const call = post(running.url, { ...slowCall, params: { name: 'a_echo', _meta } }, headers);
    await backend.received(({ method }) => method === 'tools/call');
    const stopped = running.stop();
    clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(35_000);
    assert.match((await call).text, /the server is stopping/);
    await stopped;
  });

  test('asked for twice is one stop', async () => {
    assert.equal(running.stop(), running.stop());
  });
});
