import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { type Exchange, type FixtureBackend, startBackend, textResult } from '../fixtures/backend.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const COUNT = 10_000;
/** More in all than the kernel takes on both ways for a client that reads nothing. */
const PADDING = 'x'.repeat(4_000);

const progress = (n: number): string =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":${n},"message":"${PADDING}"}}`;

describe('a call whose backend says more than its client takes at once', () => {
  let backend: FixtureBackend;
  let running: Running;
  let response: ServerResponse | undefined;
  const burst = ({ id, response: stream }: Exchange): void => {
    response = stream;
    stream.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 1; n <= COUNT; n += 1) stream.write(`event: message\ndata: ${progress(n)}\n\n`);
    stream.end(`event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":${textResult('done')}}\n\n`);
  };
  before(async () => {
    backend = await startBackend({
      tools: ['t'],
      on: ({ recorded }) => (recorded.method === 'tools/call' ? burst : undefined),
    });
    running = await startRuntime(configFile({ a: backend.url }));
  });
  after(async () => {
    await running.stop();
    await backend.close();
  });

  const callOf = (id: number) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'a_t', arguments: {}, _meta: { progressToken: 1 } },
    });

  test('is held back at the backend while the client reads nothing, and loses nothing', async () => {
    const session = await openSession(running.url);
    const answer = await fetch(running.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session.id,
      },
      body: callOf(1),
    });
    let left = -1;
    await until('the backend to be held back', async () => {
      const now = response?.writableLength ?? 0;
      const isStill = now > 0 && now === left;
      left = now;
      return isStill || undefined;
    });
    assert.ok(left > (COUNT * PADDING.length) / 4, `${left} bytes wait at the backend`);
    const text = await answer.text();
    const told = [...text.matchAll(/"progress":(\d+)/g)].map(([, n]) => Number(n));
    assert.deepEqual(
      told,
      Array.from({ length: COUNT }, (_, n) => n + 1),
    );
    assert.match(text, /"text":"done"/);
  });
});
