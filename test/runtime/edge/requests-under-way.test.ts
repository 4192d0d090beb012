import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { ByteBudget } from '../../../runtime/byte-budget.ts';
import type { Inbound, Reply } from '../../../runtime/call.ts';
import { type EndpointDeps, hostCheck, mcpEndpoint, publicServer } from '../../../runtime/edge/index.ts';
import { LIMITS } from '../../../runtime/limits.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { connectByHand, postBytes } from '../../fixtures/by-hand.ts';
import { post, type RawAnswer } from '../../fixtures/raw-client.ts';

const DONE: Reply = { kind: 'whole', status: 200, body: Buffer.from('{}') };

/** The public listener over a pipeline that answers `slow` when it is told to, and everything else at once. */
const serve = async (t: TestContext, more: Partial<EndpointDeps> = {}) => {
  const arrived: Inbound[] = [];
  const waiting: (() => void)[] = [];
  const endpoint = mcpEndpoint({
    hosts: () => hostCheck({ allowedHosts: [], allowedOrigins: [], trustedProxies: ['127.0.0.1'] }),
    handle: (request) => {
      arrived.push(request);
      if (!request.body.includes('slow')) return Promise.resolve(DONE);
      return new Promise((resolve) => waiting.push(() => resolve(DONE)));
    },
    clock: frozenClock(),
    newCorrelationId: () => 'c',
    onFailure: (error) => assert.fail(error),
    isClosing: () => false,
    bounds: { ...LIMITS, requests: 4 },
    connections: { sessionOf: () => undefined, streamed: (request) => request, answer: () => {} },
    isSessionKnown: () => true,
    bodies: new ByteBudget(LIMITS.bodyBytesTogether),
    answers: new ByteBudget(LIMITS.responseBytesTogether),
    ...more,
  });
  const app = publicServer(endpoint, LIMITS);
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  const ask = (address: string, body = '{}'): Promise<RawAnswer> => post(url, body, { 'x-forwarded-for': address });
  const until = async (count: number): Promise<void> => {
    while (arrived.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { url, ask, until, endpoint, answerAll: () => waiting.splice(0).map((answer) => answer()) };
};

describe('requests under way', () => {
  test('of one address leave half of the room to others', async (t) => {
    const { ask, until, answerAll } = await serve(t);
    const slow = [ask('192.0.2.1', 'slow'), ask('192.0.2.1', 'slow')];
    await until(2);
    const refused = await ask('192.0.2.1');
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.match(refused.text, /"reason":"overloaded"/);
    assert.equal((await ask('192.0.2.2')).status, 200);
    answerAll();
    assert.deepEqual(
      (await Promise.all(slow)).map(({ status }) => status),
      [200, 200],
    );
    assert.equal((await ask('192.0.2.1')).status, 200);
  });

  test('are bounded together', async (t) => {
    const { ask, until, answerAll } = await serve(t);
    const slow = ['1', '1', '2', '2'].map((last) => ask(`192.0.2.${last}`, 'slow'));
    await until(4);
    assert.equal((await ask('192.0.2.3')).status, 503);
    answerAll();
    await Promise.all(slow);
    assert.equal((await ask('192.0.2.3')).status, 200);
  });

  test('count although their client has hung up', async (t) => {
    const { url, ask, until, answerAll, endpoint } = await serve(t);
    for (let count = 1; count <= 2; count += 1) {
      const { socket, closed } = connectByHand(t, url);
      socket.write(postBytes('slow', { 'x-forwarded-for': '192.0.2.1' }));
      await until(count);
      socket.destroy();
      await closed;
    }
    assert.equal((await ask('192.0.2.1')).status, 503);
    answerAll();
    await endpoint.idle();
    assert.equal((await ask('192.0.2.1')).status, 200);
  });
});
