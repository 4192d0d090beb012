import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Reply } from '../../../runtime/call/reply.ts';
import { connectByHand, postBytes } from '../../fixtures/by-hand.ts';
import { DONE, serveEndpoint } from '../../fixtures/endpoint.ts';

/** Four requests at a time; `slow` is answered when it is told to. */
const serve = async (t: TestContext) => {
  const waiting: (() => void)[] = [];
  const answer = ({ body }: { readonly body: Buffer }): Reply | Promise<Reply> =>
    body.includes('slow') ? new Promise((resolve) => waiting.push(() => resolve(DONE))) : DONE;
  const served = await serveEndpoint(t, answer, { bounds: { requests: 4 } });
  return { ...served, answerAll: () => waiting.splice(0).map((now) => now()) };
};

describe('requests under way', () => {
  test('of one address leave half of the room to others', async (t) => {
    const { ask, arrived, answerAll } = await serve(t);
    const slow = [ask('192.0.2.1', 'slow'), ask('192.0.2.1', 'slow')];
    await arrived(2);
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
    const { ask, arrived, answerAll } = await serve(t);
    const slow = ['1', '1', '2', '2'].map((last) => ask(`192.0.2.${last}`, 'slow'));
    await arrived(4);
    assert.equal((await ask('192.0.2.3')).status, 503);
    answerAll();
    await Promise.all(slow);
    assert.equal((await ask('192.0.2.3')).status, 200);
  });

  test('count although their client has hung up', async (t) => {
    const { url, ask, arrived, answerAll, endpoint } = await serve(t);
    for (let count = 1; count <= 2; count += 1) {
      const { socket, closed } = connectByHand(t, url);
      socket.write(postBytes('slow', { 'x-forwarded-for': '192.0.2.1' }));
      await arrived(count);
      socket.destroy();
      await closed;
    }
    assert.equal((await ask('192.0.2.1')).status, 503);
    answerAll();
    await endpoint.idle();
    assert.equal((await ask('192.0.2.1')).status, 200);
  });
});
