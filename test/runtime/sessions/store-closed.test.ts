import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { sharedConfig, startReplica } from '../../fixtures/replicas.ts';
import { startRuntime } from '../../fixtures/runtime.ts';

describe('the connections to the store of the sessions', { skip: noRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());

  const areOpen = async (): Promise<boolean> => (await redis.command('CLIENT', 'LIST')).includes('name=vmcp');
  const untilClosed = (): Promise<true> =>
    until('their end', async () => ((await areOpen()) ? undefined : true), { timeoutMs: 5_000, intervalMs: 10 });

  test('end with the runtime', async () => {
    const running = await startReplica(sharedConfig(redis.address, {}));
    assert.equal(await areOpen(), true);
    await running.stop();
    await untilClosed();
  });

  test('end when the runtime cannot listen', async (t) => {
    const other = createServer();
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
    t.after(() => other.close());
    const { port: managementPort } = other.address() as AddressInfo;
    await assert.rejects(startRuntime(sharedConfig(redis.address, {}), { managementPort }), { code: 'EADDRINUSE' });
    await untilClosed();
  });
});
