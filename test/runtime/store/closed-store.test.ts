import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { until } from '../../cluster/until.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { CALLS, soon } from './given-store.ts';
import { hasCode } from './has-code.ts';
import { onRedis } from './stores.ts';

const refusesEverything = async (store: Store): Promise<void> => {
  for (const [name, call] of Object.entries(CALLS))
    await assert.rejects(call(store, 'key'), hasCode('store_unavailable'), name);
};

describe('a store that was closed', () => {
  test('in memory refuses every call, and may be closed again', async () => {
    const store = memoryStore({ clock: systemClock });
    await store.close();
    await refusesEverything(store);
    await store.close();
  });

  test('in Redis refuses every call, and may be closed again', { skip: noRedis }, async (t) => {
    const redis = await startRedis();
    t.after(redis.stop);
    const { store } = onRedis([redis.address]);
    await store.firstAnswer;
    await store.close();
    await refusesEverything(store);
    await store.close();
  });

  test('before it was there is closed at once', async (t) => {
    let isAsked = false;
    // It greets, and says nothing to a subscription.
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => {
        isAsked ||= /subscribe/i.test(data.toString());
        for (const _ of data.toString().matchAll(/^\*[0-9]/gm)) if (!isAsked) socket.write('+PONG\r\n');
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const times = { connectMs: 60_000, commandMs: 60_000, pingMs: 60_000 };
    const { store } = onRedis([`127.0.0.1:${port}`], { times });
    store.subscribe('news', () => {});
    await until('the question', async () => (isAsked ? true : undefined), soon);
    await store.close();
  });
});
