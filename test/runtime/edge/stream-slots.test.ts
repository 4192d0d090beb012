import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { StreamSlots } from '../../../runtime/edge/stream-slots.ts';
import { LIMITS } from '../../../runtime/limits.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

describe('places for streams', () => {
  test('are for one address up to half, for all together up to the limit', () => {
    const slots = new StreamSlots(4);
    assert.ok(slots.take('192.0.2.1'));
    const second = slots.take('192.0.2.1');
    assert.equal(slots.take('192.0.2.1'), undefined);
    assert.ok(slots.take('2001:db8::1'));
    assert.ok(slots.take('2001:db8::2'));
    assert.equal(slots.take('2001:db8::3'), undefined);
    assert.equal(slots.take('192.0.2.2'), undefined);
    second?.();
    second?.();
    assert.ok(slots.take('192.0.2.2'));
    assert.equal(slots.take('192.0.2.3'), undefined);
  });

  test('at /sse are left for others by clients of one address', async (t) => {
    const running = await startRuntime(configFile({}, { extensions: { trustedProxies: ['127.0.0.1'] } }));
    t.after(() => running.stop());
    const open = async (address: string): Promise<IncomingMessage> => {
      const headers = { accept: 'text/event-stream', 'x-forwarded-for': address };
      const sent = httpRequest(new URL('/sse', running.url), { headers, agent: false }).end();
      t.after(() => void sent.destroy());
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return answer;
    };
    const greedy = await Promise.all(Array.from({ length: LIMITS.sseConnections / 2 + 20 }, () => open('192.0.2.1')));
    assert.equal(greedy.filter(({ statusCode }) => statusCode === 200).length, LIMITS.sseConnections / 2);
    assert.equal(greedy.filter(({ statusCode }) => statusCode === 503).length, 20);
    assert.equal((await open('192.0.2.2')).statusCode, 200);
    const [first] = greedy.filter(({ statusCode }) => statusCode === 200);
    first?.destroy();
    for (let status; status !== 200;) status = (await open('192.0.2.1')).statusCode;
  });
});
