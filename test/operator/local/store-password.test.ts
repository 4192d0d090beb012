import { test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { manifests, startLocal } from './terminal.ts';

test('the password of a session store is the one of the environment', { skip: noRedis }, async (t) => {
  const redis = await startRedis({ password: 'only-here' });
  t.after(redis.stop);
  const spec = `  sessionStorage: { provider: kvstore, address: "${redis.address}" }\n`;
  const env = { VMCP_SESSION_KVSTORE_PASSWORD: 'only-here' };
  await using local = await startLocal({ 'all.yaml': manifests({}, spec) }, [], env);
  await local.sees(/demo {2}Ready/);
  await until('a session', async () => {
    await openSession(local.url);
    return /^vmcp:default:demo:session:/m.test(await redis.command('KEYS', '*')) ? true : undefined;
  });
});
