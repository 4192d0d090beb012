import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markRevoked } from '../../../../runtime/auth-server/grants/revoked-users.ts';
import { userRevocations } from '../../../../runtime/revocations/index.ts';
import { systemClock } from '../../../../runtime/process/index.ts';
import { noRedis, startRedisCluster } from '../../../fixtures/redis.ts';
import { onRedis } from '../../store/stores.ts';
import { authorize, redeem, refresh, refreshTokenOf, revoke, signIn } from './client.ts';
import { startReplica } from './provider.ts';

test('grants live on every node of a Redis Cluster', { skip: noRedis }, async (context) => {
  const cluster = await startRedisCluster();
  context.after(() => cluster.stop());
  const { store } = onRedis(cluster.addresses, { isCluster: true });
  context.after(() => store.close());
  await store.firstAnswer;
  const replica = await startReplica({ store, clock: systemClock });
  context.after(() => replica.stop());
  const revocations = userRevocations({ store, clock: systemClock, isShared: false, keptMs: 60_000 });
  context.after(() => revocations.close());
  await revocations.isLoaded;

  for (let user = 0; user < 12; user += 1) {
    const name = `user-${user}`;
    const { code } = await authorize(replica.url, { user: name });
    const first = await redeem(replica.url, code);
    assert.equal(first.status, 200, first.text);
    const second = await refresh(replica.url, refreshTokenOf(first));
    assert.equal(refreshTokenOf(await refresh(replica.url, refreshTokenOf(first))), refreshTokenOf(second));
    const other = await signIn(replica.url, { user: name });
    await revoke(replica.url, refreshTokenOf(second));
    assert.equal((await refresh(replica.url, refreshTokenOf(second))).status, 400);
    await Promise.all([revocations.revoke(name), markRevoked(store, name, Date.now())]);
    assert.equal(revocations.isRevoked(name, Date.now() - 1_000), true);
    assert.equal((await refresh(replica.url, refreshTokenOf(other))).status, 400);
  }
});
