import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { refuseUnreadable } from '../../../runtime/edge/unreadable-request.ts';
import { count, hang, startBackend } from '../../fixtures/backend.ts';
import { connectByHand, GET_SSE, modernBytes, postBytes } from '../../fixtures/by-hand.ts';
import { INITIALIZE } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const backend = await startBackend();
const running = await startRuntime(configFile({ a: backend.url }));
after(async () => {
  await running.stop();
  await backend.close();
});

const POST = 'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';

/** What comes for these bytes until the connection is closed. */
const answerTo = async (t: Parameters<typeof connectByHand>[0], bytes: string, url = running.url) => {
  const { socket, closed, text } = connectByHand(t, url);
  socket.write(bytes, 'latin1');
  await closed;
  const [head = '', body = ''] = text().split('\r\n\r\n');
  return { head, body };
};

describe('what is no request is told so, and ends its connection', () => {
  const rows: readonly (readonly [what: string, bytes: string, status: string, error: string, words: RegExp])[] = [
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '400 Bad Request', 'not_http', /^TLS is not spoken/],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400 Bad Request', 'not_http', /^HTTP\/2 is not spoken/],
    ['a word', 'nothing\r\n\r\n', '400 Bad Request', 'not_http', /^this is no HTTP\/1\.1 request: \w/],
    ['a line without a colon', `${POST}nothing\r\n\r\n`, '400 Bad Request', 'not_http', /: Invalid header/],
    ['two lengths', `${POST}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`, '400 Bad Request', 'not_http', /ength/],
    [
      'a length beside chunks',
      `${POST}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      '400 Bad Request',
      'not_http',
      /can't be present with/,
    ],
    ['a broken chunk', `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n`, '400 Bad Request', 'not_http', /chunk size/],
    [
      'too long a head',
      `${POST}x: ${'x'.repeat(17_000)}\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'head_too_large',
      /headers of the request are larger than 16384 bytes/,
    ],
    [
      'too much beside the chunks',
      `${POST}transfer-encoding: chunked\r\n\r\n1;${'x'.repeat(17_000)}\r\n`,
      '413 Payload Too Large',
      'body_too_large',
      /chunk extensions/,
    ],
  ];
  for (const [what, bytes, status, error, words] of rows)
    test(what, async (t) => {
      const { head, body } = await answerTo(t, bytes);
      assert.ok(head.startsWith(`HTTP/1.1 ${status}\r\n`), head);
      assert.match(head, /^connection: close$/m);
      assert.match(head, new RegExp(`^content-length: ${body.length}$`, 'm'));
      const told = JSON.parse(body) as Readonly<Record<string, string>>;
      assert.equal(told['error'], error);
      assert.match(told['error_description'] ?? '', words);
    });
});

test('a client that sends everything before it reads sees the answer', async (t) => {
  const long = `x: ${'x'.repeat(20_000)}\r\n`;
  for (const head of [`${POST}${long}content-length: 3000000\r\n\r\n`, `${POST}nothing\r\n\r\n`])
    for (let time = 0; time < 5; time += 1) {
      const answer = await answerTo(t, head + 'x'.repeat(3_000_000));
      assert.match(answer.head, /^HTTP\/1\.1 4(00|31) /);
    }
});

test('what does not arrive in time is told so, and is not served later', async (t) => {
  let served = 0;
  const times = { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 20 };
  const server = createServer(times, () => (served += 1)).on('clientError', refuseUnreadable);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { head, body } = await answerTo(t, 'GET / HTTP/1.1\r\nhost: ', `http://127.0.0.1:${port}`);
  assert.match(head, /^HTTP\/1\.1 408 Request Timeout\r\n/);
  assert.match(body, /"request_timeout"/);
  assert.equal(served, 0);
});

test('the management port says the same', async (t) => {
  const { head, body } = await answerTo(t, 'nothing\r\n\r\n', running.managementUrl);
  assert.match(head, /^HTTP\/1\.1 400 [^]*^connection: close$/m);
  assert.match(body, /"not_http"/);
});

test('what follows a call that is under way is not told in place of its answer', async (t) => {
  backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
  t.after(() => backend.set({}));
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write(modernBytes('tools/call', { name: 'a_echo', arguments: {} }));
  while (count(backend, 'tools/call') === 0) await new Promise((resolve) => void setImmediate(resolve));
  socket.write('nothing\r\n\r\n');
  await closed;
  assert.equal(text(), '');
});

test('a request that was answered before its body came whole is not answered again', async (t) => {
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n');
  while (!text().includes('"ok"')) await once(socket, 'data');
  socket.write('zz\r\n');
  await closed;
  assert.deepEqual(text().match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200']);
});

test('nothing is written into a stream that has begun', async (t) => {
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write(GET_SSE);
  while (!text().includes('event: endpoint')) await once(socket, 'data');
  socket.write('nothing\r\n\r\n');
  await closed;
  assert.equal(text().split('HTTP/1.1').length, 2, text());
});

test('after an answer the connection is read on, and told the same', async (t) => {
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write(postBytes(JSON.stringify(INITIALIZE)));
  while (!text().includes('serverInfo')) await once(socket, 'data');
  socket.write('nothing\r\n\r\n');
  await closed;
  assert.deepEqual(text().match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 400']);
});
