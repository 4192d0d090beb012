import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '../../cluster/scratch.ts';
import { openShared, startReplica } from '../../fixtures/replicas.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { entry, group, planned, planOf, podSpecOf, server } from '../../operator/plan/plan-of-demo.ts';
import { covers } from '../../requirements.ts';

const SECRETS = { redis: { password: 'from-the-secret' } } as const;

interface Volume {
  readonly name: string;
  readonly projected?: {
    readonly sources: readonly {
      readonly secret: {
        readonly name: keyof typeof SECRETS;
        readonly items: readonly { readonly key: 'password'; readonly path: string }[];
      };
    }[];
  };
}
interface Mount {
  readonly name: string;
  readonly mountPath: string;
}

covers(
  'session.kvstore.password-ref-used',
  'session.kvstore.address-used',
  'session.kvstore.db-selected',
  'session.kvstore.key-prefix',
);
test(
  'a pod as the operator plans it keeps its sessions where spec.sessionStorage says, with the secret that passwordRef names',
  {
    skip: noRedis,
  },
  async (t) => {
    const [redis, other] = await Promise.all([1, 2].map(() => startRedis({ password: SECRETS.redis.password })));
    assert.ok(redis && other);
    const folder = await scratchFolder('pod');
    t.after(() => Promise.all([redis.stop(), other.stop(), folder.remove()]));
    const sessionStorage = {
      provider: 'kvstore',
      address: redis.address,
      db: 5,
      keyPrefix: 'spec:',
      passwordRef: { name: 'redis', key: 'password' },
    };
    const elsewhere = { provider: 'kvstore', address: other.address, db: 6, keyPrefix: 'config:' };
    const spec = { sessionStorage, config: { sessionStorage: elsewhere } };
    const plan = planOf({ objects: [server(spec), group(), entry('a')] });

    // What the kubelet does: the volumes of the pod under the paths where the container sees them.
    const { volumes, containers } = podSpecOf(plan) as unknown as {
      readonly volumes: readonly Volume[];
      readonly containers: readonly { readonly volumeMounts: readonly Mount[] }[];
    };
    for (const { name, projected } of volumes) {
      const mount = containers[0]?.volumeMounts.find((each) => each.name === name);
      for (const { secret } of projected?.sources ?? []) {
        for (const { key, path } of secret.items) {
          const file = join(folder.path, mount?.mountPath ?? '', path);
          await mkdir(dirname(file), { recursive: true });
          await writeFile(file, SECRETS[secret.name][key]);
        }
      }
    }
    const data = planned(plan, 'ConfigMap')['data'] as Readonly<Record<string, string>>;
    const text = (data['config.yaml'] ?? '').replace('passwordFile: /', `passwordFile: ${folder.path}/`);

    const running = await startReplica([{ name: 'config.yaml', text }]);
    t.after(() => running.stop());
    assert.notEqual((await openShared(running.url)).id, '');
    assert.match(await redis.command('-n', '5', 'KEYS', '*'), /^(spec:\S+\s?)+$/);
    // Nothing is anywhere else.
    assert.match(await redis.command('INFO', 'keyspace'), /^# Keyspace\s+db5:\S+$/);
    assert.match(await other.command('INFO', 'keyspace'), /^# Keyspace$/);
  },
);
