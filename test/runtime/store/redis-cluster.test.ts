import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Store } from '../../../runtime/store/store.ts';
import { until } from '../../cluster/until.ts';
import { noRedis, startRedisCluster, type TestRedis } from '../../fixtures/redis.ts';
import { contract } from './contract.ts';
import { hasCode } from './has-code.ts';
import { standStill } from './stand-still.ts';
import { onRedis } from './stores.ts';

const soon = { timeoutMs: 10_000, intervalMs: 10 };
const isAway = hasCode('store_unavailable');

/** Those of `keys` that lie on this node. */
const keysOn = async (node: TestRedis | undefined, keys: readonly string[]): Promise<readonly string[]> => {
  const there = new Set((await node?.command('KEYS', '*'))?.split('\n'));
  return keys.filter((key) => there.has(`test:${key}`));
};

describe('a store in a Redis Cluster', { skip: noRedis }, () => {
  let cluster: Awaited<ReturnType<typeof startRedisCluster>>;
  let store: Store;
  const given = (): Store => store;
  before(async () => {
    cluster = await startRedisCluster();
    for (const node of cluster.nodes) await node.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    store = onRedis(cluster.addresses.slice(0, 1), { isCluster: true }).store;
    await store.firstAnswer;
  });
  after(async () => {
    await store.close();
    await cluster.stop();
  });
  contract(given);

  test('a node of a cluster that says nothing takes only its own keys with it, and none once it speaks again', async () => {
    const [first] = cluster.nodes;
    const heard: string[] = [];
    await store.subscribe('news', (message) => void heard.push(message.toString())).isLive;
    const keys = Array.from({ length: 30 }, (_, at) => `key:${at}`);
    await Promise.all(keys.map((key) => store.set(key, Buffer.from('x'), 60_000)));
    const silent = await keysOn(first, keys);
    first?.freeze();
    await assert.rejects(store.get(silent[0] ?? ''), isAway);
    for (const key of keys.filter((each) => !silent.includes(each))) assert.ok(await store.get(key));
    first?.thaw();
    await until('its keys', async () => ((await store.get(silent[0] ?? '')) ? true : undefined), soon);
    await until(
      'messages',
      async () => {
        await store.publish('news', Buffer.from('x'));
        return heard.length > 0 ? true : undefined;
      },
      soon,
    );
  });

  test('a node of a cluster is not away whose answer waits to be read by a process that stood still', async () => {
    await store.set('key', Buffer.from('x'), 60_000);
    const answer = store.get('key');
    await standStill(2_500);
    assert.equal(String(await answer), 'x');
    assert.equal(String(await store.get('key')), 'x');
  });

  test('a node of a cluster that goes away takes only its own keys with it', async () => {
    const [first] = cluster.nodes;
    const keys = Array.from({ length: 30 }, (_, at) => `key:${at}`);
    await Promise.all(keys.map((key) => store.set(key, Buffer.from('x'), 60_000)));
    const lost = await keysOn(first, keys);
    assert.ok(lost.length > 0 && lost.length < 30);
    await first?.kill();
    const stays = keys.filter((key) => !lost.includes(key));
    await until(
      'the rest',
      async () => (await Promise.all(stays.map((key) => store.get(key)))).every(Boolean) || undefined,
      soon,
    );
    await assert.rejects(store.get(lost[0] ?? ''), isAway);
  });
});
