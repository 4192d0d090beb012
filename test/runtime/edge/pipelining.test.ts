import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { count, type FixtureBackend, hang, startBackend } from '../../fixtures/backend.ts';
import { connectByHand, GET_SSE, modernBytes } from '../../fixtures/by-hand.ts';
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
});
