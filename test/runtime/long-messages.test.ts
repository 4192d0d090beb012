import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { resultText } from '../fixtures/answers.ts';
import { answerJson, type Behaviour, type FixtureBackend, startBackend, textResult } from '../fixtures/backend.ts';
import { ASKABLE, sendModern } from '../fixtures/modern-caller.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { startSseBridge, type SseBridge } from '../fixtures/sse-bridge.ts';

/** Characters of one to four bytes, so that pieces end within some. */
const text = 'ab\u00fc\u20ac\u{1f600}"\\'.repeat(20_000);

const echoed: Behaviour = (exchange) =>
  answerJson(textResult((exchange.recorded.params['arguments'] as { text: string }).text))(exchange);

/** Many chunks (RFC 9112 §7.1) in each of what a socket reads. */
const inChunks: Behaviour = ({ id, recorded, response }) => {
  const all = Buffer.from(
    `{"jsonrpc":"2.0","id":${id},"result":${textResult((recorded.params['arguments'] as { text: string }).text)}}`,
  );
  response.writeHead(200, { 'content-type': 'application/json' });
  response.cork();
  for (let at = 0; at < all.length; at += 9_000) response.write(all.subarray(at, at + 9_000));
  response.uncork();
  response.end();
};

describe('long arguments and answers come out as they went in', () => {
  let backend: FixtureBackend;
  let bridge: SseBridge;
  let running: Running;
  let answer = echoed;
  before(async () => {
    backend = await startBackend({
      on: ({ recorded }) => (recorded.method === 'tools/call' ? answer : undefined),
    });
    bridge = await startSseBridge(backend.url);
    running = await startRuntime(
      configFile(
        { a: backend.url },
        {
          backends: [
            { name: 'a', url: backend.url, transport: 'streamable-http' },
            { name: 's', url: bridge.url, transport: 'sse' },
          ],
        },
      ),
    );
  });
  after(async () => {
    await running.stop();
    await bridge.close();
    await backend.close();
  });

  for (const [how, behaviour] of [
    ['whole', echoed],
    ['in chunks', inChunks],
  ] as const) {
    test(`of a session, answered ${how}`, async () => {
      answer = behaviour;
      const session = await openSession(running.url);
      const answers = await Promise.all(Array.from({ length: 20 }, () => session.call('a_echo', { text })));
      for (const each of answers) assert.ok(resultText(each) === text);
    });

    test(`of a call of 2026-07-28, answered ${how}`, async () => {
      answer = behaviour;
      const sent = { capabilities: ASKABLE, args: { text } };
      for (const each of await Promise.all(Array.from({ length: 20 }, () => sendModern(running.url, sent))))
        assert.ok(resultText(each) === text);
    });
  }

  test('over HTTP+SSE', async () => {
    answer = echoed;
    const session = await openSession(running.url);
    assert.ok(resultText(await session.call('s_echo', { text })) === text);
  });

  test('the backend gets their length', async () => {
    answer = echoed;
    backend.requests.length = 0;
    await (await openSession(running.url)).call('a_echo', { text });
    await sendModern(running.url, { capabilities: ASKABLE, args: { text } });
    const calls = backend.requests.filter(({ method }) => method === 'tools/call');
    assert.equal(calls.length, 2);
    for (const { headers, body } of calls) {
      assert.equal(headers['transfer-encoding'], undefined);
      assert.equal(headers['content-length'], String(Buffer.byteLength(body)));
    }
  });
});
