import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { isReady, openShared, sharedConfig } from '../../fixtures/replicas.ts';
import { covers } from '../../requirements.ts';

const program = new URL('../../../runtime/main.ts', import.meta.url).pathname;
const PASSWORD = 'only-for-this-test';

describe('a replica that is killed', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let folder: Awaited<ReturnType<typeof scratchFolder>>;
  const children: ChildProcess[] = [];

  before(async () => {
    redis = await startRedis({ password: PASSWORD });
    backend = await startBackend({ hasStream: true });
    folder = await scratchFolder('killed');
    const [file] = sharedConfig(redis.address, { a: backend.url }, { db: 3, keyPrefix: 'own:' });
    await writeFile(join(folder.path, 'config.yaml'), file?.text ?? '');
  });
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all([redis.stop(), backend.close(), folder.remove()]);
  });

  const start = async (): Promise<{ readonly url: string; readonly kill: () => Promise<unknown> }> => {
    const config = join(folder.path, 'config.yaml');
    const args = [program, 'serve', '-c', config, '--port', '0', '--management-port', '0'];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, VMCP_SESSION_KVSTORE_PASSWORD: PASSWORD },
    });
    children.push(child);
    for await (const line of createInterface(child.stdout)) {
      const { url, managementUrl } = JSON.parse(line) as { readonly url?: string; readonly managementUrl?: string };
      if (url === undefined || managementUrl === undefined) continue;
      await isReady(managementUrl);
      child.stdout.resume();
      return {
        url,
        kill: async () => {
          const ended = once(child, 'exit');
          child.kill('SIGKILL');
          await ended;
        },
      };
    }
    throw new Error('the program ended');
  };

  covers(
    'session.horizontal-scaling',
    'session.provider.kvstore',
    'session.config.key-prefix',
    'session.config.password-env',
  );
  test('loses no session: the others go on with it, and hear its backends', { timeout: 60_000 }, async () => {
    const [one, two] = await Promise.all([start(), start()]);
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
    const three = await start();
    assert.equal((await session.call(three.url, 3, 'a_echo')).status, 200);
    stream.close();
  });
});
