import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { INITIALIZE, post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { startRuntime } from '../../fixtures/runtime.ts';
import { openShared, sharedConfig, startReplica } from '../../fixtures/replicas.ts';

const soon = { timeoutMs: 10_000, intervalMs: 10 };

const isRefused = ({ status, headers, json }: RawAnswer): void => {
  assert.equal(status, 503);
  assert.equal(headers.get('retry-after'), '1');
  assert.equal((json as { error: { data: { reason: string } } }).error.data.reason, 'store_unavailable');
};

describe('while the store of the sessions is away', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let one: Running;
  let two: Running;

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());
  beforeEach(async () => {
    backend = await startBackend();
    const files = sharedConfig(redis.address, { a: backend.url });
    [one, two] = await Promise.all([startReplica(files), startReplica(files)]);
  });
  afterEach(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await backend.close();
  });

  /** The replica has noticed it: nothing new is begun. */
  const isAway = (): Promise<true> =>
    until('a refusal', async () => ((await post(one.url, INITIALIZE)).status === 503 ? true : undefined), soon);

  test('a session in use goes on, others and new ones are answered to try again', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    await redis.kill();
    await isAway();
    assert.equal((await session.call(one.url, 2, 'a_echo')).status, 200);
    const refused = await session.call(two.url, 3, 'a_echo');
    isRefused(refused);
    assert.equal((refused.json as { id: unknown }).id, 3);
    isRefused(await session.send(two.url, { id: 4, method: 'tools/call', params: { x: 'x'.repeat(100_000) } }));
    isRefused(await post(two.url, INITIALIZE));
    await redis.start();
  });

  test('the status of each replica says so, since when and why', async () => {
    const storeOf = ({ status }: Running) => status().sessionStore;
    const before = storeOf(one);
    assert.deepEqual({ ...before, since: '' }, { state: 'up', since: '' });
    await redis.kill();
    await isAway();
    const { state, since = '', reason } = storeOf(one) ?? {};
    assert.deepEqual([state, reason], ['down', 'connection closed']);
    assert.ok(since > (before?.since ?? ''));
    await redis.start();
    const isUpForAll = (): boolean => [one, two].every((running) => storeOf(running)?.state === 'up');
    await until('the return', async () => (isUpForAll() ? true : undefined), soon);

    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    isRefused(await post(one.url, INITIALIZE));
    const body = (await (await fetch(`${one.managementUrl}/status`)).json()) as { sessionStore: { reason: string } };
    assert.match(body.sessionStore.reason, /^OOM command not allowed/);
    assert.deepEqual(body.sessionStore, storeOf(one));
    assert.equal(storeOf(one)?.state, 'refusing');
    assert.equal(storeOf(two)?.state, 'up');
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  });

  test('its return heals everything, and a store that kept nothing has forgotten the sessions', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    await redis.kill();
    await isAway();
    await redis.start();
    await until(
      '404',
      async () => ((await session.call(one.url, 2, 'a_echo')).status === 404 ? true : undefined),
      soon,
    );
    const next = await until(
      'a session',
      async () => {
        const opened = await openShared(one.url);
        return opened.id === '' ? undefined : opened;
      },
      soon,
    );
    assert.equal((await next.call(two.url, 1, 'a_echo')).status, 200);
  });

  test('a session that was only paused goes on at every replica', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    redis.freeze();
    const refused = await session.call(two.url, 2, 'a_echo');
    redis.thaw();
    isRefused(refused);
    const isServed = async (url: string) => ((await session.call(url, 3, 'a_echo')).status === 200 ? true : undefined);
    for (const url of [one.url, two.url]) await until('an answer', () => isServed(url), soon);
  });

  test('a session that one replica has ended meanwhile is not served by the other afterwards', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await redis.command('FLUSHALL');
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(
      '404',
      async () => ((await session.call(one.url, 2, 'a_echo')).status === 404 ? true : undefined),
      soon,
    );
  });
});

describe('a runtime whose store has never answered', { skip: noRedis }, () => {
  test('is not ready', async () => {
    const redis = await startRedis();
    const backend = await startBackend();
    await redis.kill();
    const files = sharedConfig(redis.address, { a: backend.url });
    const running = await startRuntime(files);
    assert.equal((await fetch(`${running.managementUrl}/readyz`)).status, 503);
    await redis.start();
    await until(
      'readiness',
      async () => ((await fetch(`${running.managementUrl}/readyz`)).ok ? true : undefined),
      soon,
    );
    await running.stop();
    await backend.close();
    await redis.stop();
  });
});
