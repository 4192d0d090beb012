import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { openShared, sharedConfig } from '../../fixtures/replicas.ts';
import { type RuntimeProcesses, runtimeProcesses } from '../../fixtures/runtime-process.ts';
import { covers } from '../../requirements.ts';

const PASSWORD = 'only-for-this-test';

describe('a replica that is killed', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let processes: RuntimeProcesses;

  before(async () => {
    redis = await startRedis({ password: PASSWORD });
    backend = await startBackend({ hasStream: true });
    const [file] = sharedConfig(redis.address, { a: backend.url }, { db: 3, keyPrefix: 'own:' });
    processes = await runtimeProcesses(file?.text ?? '', { VMCP_SESSION_KVSTORE_PASSWORD: PASSWORD });
  });
  after(async () => {
    await processes.close();
    await Promise.all([redis.stop(), backend.close()]);
  });

  covers(
    'session.horizontal-scaling',
    'session.provider.kvstore',
    'session.config.key-prefix',
    'session.config.password-env',
  );
  test('loses no session: the others go on with it, and hear its backends', { timeout: 60_000 }, async () => {
    const [one, two] = await Promise.all([processes.start(), processes.start()]);
    const session = await openShared(one.url);
    assert.equal((await session.call(one.url, 1, 'a_echo')).status, 200);
    assert.match(await redis.command('-n', '3', 'KEYS', '*'), /^(own:sessions?:\S+\s?)+$/);
    assert.equal(await redis.command('-n', '0', 'DBSIZE'), '0');
    await one.kill();
    const stream = await session.listen(two.url);
    const used = String(backend.requests.find(({ method }) => method === 'tools/call')?.headers['mcp-session-id']);
    await until('the stream', async () => ([...backend.streams.values()].includes(used) ? true : undefined));
    backend.tell('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}', used);
    await stream.heard('notifications/resources/updated');
    assert.equal((await session.call(two.url, 2, 'a_echo')).status, 200);
    const calls = backend.requests.filter(({ method }) => method === 'tools/call');
    assert.deepEqual(
      calls.map(({ headers }) => headers['mcp-session-id']),
      [used, used],
    );
    // A restarted one serves it, too.
    const three = await processes.start();
    assert.equal((await session.call(three.url, 3, 'a_echo')).status, 200);
    stream.close();
  });
});
