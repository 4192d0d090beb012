import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { count, type FixtureBackend, hang, startBackend } from '../../fixtures/backend.ts';
import { connectByHand, GET_SSE, modernBytes, postBytes } from '../../fixtures/by-hand.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

let backend: FixtureBackend;
let running: Running;
beforeEach(async () => {
  backend = await startBackend();
  running = await startRuntime(configFile({ a: backend.url }));
  await (await openSession(running.url)).toolNames();
});
afterEach(async () => {
  await running.stop();
  await backend.close();
});

const CALL = modernBytes('tools/call', { name: 'a_echo', arguments: {} });

const LIST = modernBytes('tools/list');
const LISTEN = modernBytes('subscriptions/listen', { notifications: {} });
const HEALTH = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n';
/** What Node would answer without asking us. */
const NO_HOST = 'GET /mcp HTTP/1.1\r\n\r\n';
const UNKNOWN_EXPECTATION = 'GET /mcp HTTP/1.1\r\nhost: localhost\r\nexpect: wonders\r\n\r\n';

const failWhen = async (closed: Promise<void>): Promise<never> => {
  await closed;
  throw new Error('the connection is closed');
};

describe('a connection', () => {
  test('on which a request comes while another has no answer is cut: the others cost nothing', async (t) => {
    backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const { socket, closed, text } = connectByHand(t, running.url);
    socket.write(CALL.repeat(500));
    await closed;
    assert.equal(text(), '');
    assert.ok(count(backend, 'tools/call') <= 1);
  });

  test('opens one stream, and no request can wait behind it', async (t) => {
    for (const next of [GET_SSE, LIST, LISTEN, HEALTH, NO_HOST, UNKNOWN_EXPECTATION]) {
      const { socket, closed, text } = connectByHand(t, running.url);
      socket.write(GET_SSE + next.repeat(50));
      await closed;
      assert.ok(text().split('HTTP/1.1').length <= 2, text());
    }
  });

  test('ends with a request that HTTP refuses', async (t) => {
    for (const [request, status] of [
      [NO_HOST, 400],
      [UNKNOWN_EXPECTATION, 417],
    ] as const) {
      const { socket, closed, text } = connectByHand(t, running.url);
      socket.write(request);
      await closed;
      assert.match(text(), new RegExp(`^HTTP/1\\.1 ${status} `));
    }
  });

  test('takes one request after another', async (t) => {
    const { socket, text, isClosed } = connectByHand(t, running.url);
    for (let answers = 1; answers <= 3; answers += 1) {
      socket.write(CALL);
      while (text().split('HTTP/1.1 200').length <= answers)
        await new Promise((resolve) => socket.once('data', resolve));
    }
    assert.equal(isClosed(), false);
  });

  test('goes on behind an answer that came before the body: the next request may come right behind that', async (t) => {
    const { socket, text, isClosed, closed } = connectByHand(t, running.url);
    const arrived = () => Promise.race([new Promise((resolve) => socket.once('data', resolve)), failWhen(closed)]);
    const refused = postBytes('{}', { 'content-type': 'text/plain' });
    for (let answers = 1; answers <= 5; answers += 1) {
      socket.write(refused.slice(0, -2));
      while (text().split('HTTP/1.1 415').length <= answers) await arrived();
      socket.write(refused.slice(-2) + CALL);
      while (text().split('HTTP/1.1 200').length <= answers) await arrived();
    }
    assert.equal(isClosed(), false);
  });

  test('carries no more than one request behind such an answer', async (t) => {
    backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const { socket, closed, text } = connectByHand(t, running.url);
    const refused = postBytes('{}', { 'content-type': 'text/plain' });
    socket.write(refused.slice(0, -2));
    while (!text().includes('HTTP/1.1 415')) await new Promise((resolve) => socket.once('data', resolve));
    socket.write(refused.slice(-2) + CALL.repeat(500));
    await closed;
    assert.equal(text().split('HTTP/1.1').length, 2);
    assert.ok(count(backend, 'tools/call') <= 1);
  });
});
