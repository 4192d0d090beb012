import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startBackend } from '../../fixtures/backend.ts';
import { connectByHand, GET_SSE, postBytes } from '../../fixtures/by-hand.ts';
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
const answerTo = async (t: Parameters<typeof connectByHand>[0], bytes: string) => {
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write(bytes, 'latin1');
  await closed;
  const [head = '', body = ''] = text().split('\r\n\r\n');
  return { head, body };
};

describe('what is no request is told so, and ends its connection', () => {
  const rows: readonly (readonly [what: string, bytes: string, status: string, error: string, words: RegExp])[] = [
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '400 Bad Request', 'not_http', /no HTTP\/1\.1 request: \w/],
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
      /larger than 16384 bytes/,
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

test('nothing is written into a stream that has begun', async (t) => {
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write(GET_SSE);
  while (!text().includes('event: endpoint')) await new Promise((resolve) => void socket.once('data', resolve));
  socket.write('nothing\r\n\r\n');
  await closed;
  assert.equal(text().split('HTTP/1.1').length, 2, text());
});

test('after an answer the connection is read on, and told the same', async (t) => {
  const { socket, closed, text } = connectByHand(t, running.url);
  socket.write(postBytes(JSON.stringify(INITIALIZE)));
  while (!text().includes('serverInfo')) await new Promise((resolve) => void socket.once('data', resolve));
  socket.write('nothing\r\n\r\n');
  await closed;
  assert.deepEqual(text().match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 400']);
});
