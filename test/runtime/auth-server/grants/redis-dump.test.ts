import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../../runtime/process/index.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { noRedis, startRedis, type TestRedis } from '../../../fixtures/redis.ts';
import { onRedis } from '../../store/stores.ts';
import { authorize, redeem, refresh, refreshTokenOf, type TokenAnswer } from './client.ts';
import { type Replica, startReplica } from './provider.ts';

const USER = 'peggy@example.com';

describe('a dump of Redis', { skip: noRedis }, () => {
  let redis: TestRedis;
  let store: Store;
  let replica: Replica;
  const issued = new Set<string>([USER]);

  /** Everything that was made up in this process and that somebody could use. */
  const collect = (): void => {
    const { Session, Interaction, AuthorizationCode, RefreshToken, Grant } = replica.provider;
    for (const model of [Session, Interaction, AuthorizationCode, RefreshToken, Grant]) {
      const prototype = model.prototype as unknown as { save: (...args: unknown[]) => Promise<string> };
      const { save } = prototype;
      prototype.save = async function saved(this: Record<string, unknown>, ...args) {
        const id = await save.apply(this, args);
        for (const each of [id, this['jti'], this['uid'], this['grantId'], this['sessionUid'], this['sid']])
          if (typeof each === 'string') issued.add(each);
        return id;
      };
    }
  };
  const noteTokens = ({ body }: TokenAnswer): void => {
    for (const name of ['access_token', 'refresh_token', 'id_token']) issued.add(String(body[name]));
  };

  before(async () => {
    redis = await startRedis();
    ({ store } = onRedis([redis.address]));
    await store.firstAnswer;
    replica = await startReplica({ store, clock: systemClock });
    collect();
    const { code, cookies } = await authorize(replica.url, { user: USER });
    for (const value of [code, ...cookies.values()]) issued.add(value);
    const first = await redeem(replica.url, code);
    const second = await refresh(replica.url, refreshTokenOf(first));
    const third = await refresh(replica.url, refreshTokenOf(second));
    for (const answer of [first, second, third]) noteTokens(answer);
    const pending = await authorize(replica.url, { user: USER });
    for (const value of [pending.code, ...pending.cookies.values()]) issued.add(value);
    issued.delete('');
  });
  after(async () => {
    await replica.stop();
    await store.close();
    await redis.stop();
  });

  /** Keys, fields and values. */
  const dump = async (): Promise<string> => {
    const keys = (await redis.command('KEYS', '*')).split('\n');
    const read = { hash: ['HGETALL'], string: ['GET'], zset: ['ZRANGE'] } as const;
    const values = await Promise.all(
      keys.map(async (key) => {
        const [command] = read[(await redis.command('TYPE', key)) as keyof typeof read];
        return redis.command(command, key, ...(command === 'ZRANGE' ? ['0', '-1'] : []));
      }),
    );
    return [...keys, ...values].join('\n');
  };

  test('holds no token, no code, no cookie, no id and no name, in any spelling', async () => {
    const dumped = await dump();
    assert.ok(issued.size > 20, `${issued.size} texts`);
    for (const prefix of ['grant:', 'answer:', 'Session:', 'AuthorizationCode:']) assert.ok(dumped.includes(prefix));
    for (const text of issued) {
      for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const)
        assert.ok(!dumped.includes(Buffer.from(text).toString(encoding).replace(/=+$/, '')), text);
    }
  });

  test('leads nobody from a name in it to what the name stands for', async () => {
    const names = new Set((await dump()).match(/[A-Za-z0-9_-]{22,}/g));
    assert.ok(names.size > 10);
    for (const name of names) {
      const answer = await refresh(replica.url, name.padEnd(65, 'A').slice(0, 65));
      assert.equal(answer.body['error'], 'invalid_grant');
      assert.equal((await redeem(replica.url, name)).body['error'], 'invalid_grant');
    }
  });
});
