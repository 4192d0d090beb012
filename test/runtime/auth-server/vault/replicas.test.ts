import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { after, afterEach, before, describe, test } from 'node:test';
import type { TokenVault } from '../../../../runtime/auth-server/vault/vault.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { until } from '../../../cluster/until.ts';
import { noRedis, startRedis, type TestRedis } from '../../../fixtures/redis.ts';
import { onRedis } from '../../store/stores.ts';
import { startSilentIssuer, startTokenIssuer, type TokenIssuer, USE } from './token-issuer.ts';
import { accountOf, HOUR_MS, type SetClock, setClock, signInAt, vaultOn } from './vaults.ts';

const USERS = Array.from({ length: 50 }, (_, at) => `user-${at}`);

describe('replicas on one store', { skip: noRedis }, () => {
  const clock: SetClock = setClock();
  let redis: TestRedis;
  let stores: readonly Store[];
  let issuer: TokenIssuer;
  let replicas: readonly TokenVault[];
  const children: ChildProcess[] = [];

  before(async () => {
    redis = await startRedis();
    const times = { connectMs: 2_000, commandMs: 2_000, pingMs: 1_000 };
    stores = [1, 2].map(() => onRedis([redis.address], { times }).store);
    await Promise.all(stores.map(({ firstAnswer }) => firstAnswer));
    issuer = await startTokenIssuer(clock.now);
    replicas = stores.map((store) => vaultOn(store, issuer, { clock }));
  });
  afterEach(() => {
    Object.assign(issuer, { fault: undefined, beforeAnswer: undefined });
    redis.thaw();
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await redis.stop();
    await issuer.close();
  });

  const [first, second] = [() => replicas[0] ?? assert.fail(), () => replicas[1] ?? assert.fail()];
  const signIn = async (user: string) => {
    const tokens = issuer.signIn(user);
    await signInAt(first(), accountOf(user), tokens);
    return { of: accountOf(user), token: tokens.accessToken };
  };
  const refreshesOf = (user: string): number => issuer.refreshes.get(user) ?? 0;
  const lockKeys = async (): Promise<readonly string[]> =>
    (await redis.command('KEYS', 'test:refresh:*')).split('\n').filter(Boolean);

  test('50 users, 100 calls each at every expiry on both: one refresh per expiry, and nobody is lost', async () => {
    for (const user of USERS) await signIn(user);
    const answers = { slow: 0 };
    issuer.beforeAnswer = async () => {
      answers.slow += 1;
      if (answers.slow % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 30));
    };
    for (const expiry of [1, 2, 3, 4]) {
      clock.advance(HOUR_MS);
      await Promise.all(
        USERS.map(async (user) => {
          const calls = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? first() : second()));
          const got = new Set(await Promise.all(calls.map((each) => each.accessToken(accountOf(user), USE))));
          assert.equal(got.size, 1, user);
          assert.notEqual([...got][0], undefined, user);
        }),
      );
      assert.deepEqual(new Set(USERS.map(refreshesOf)), new Set([expiry]));
    }
    assert.deepEqual(issuer.reused, []);
    assert.deepEqual(await lockKeys(), []);
  });

  test('a replica that waits has the token as soon as the other one has stored it', async () => {
    const { of } = await signIn('waiting');
    clock.advance(HOUR_MS);
    const { arrived, goOn } = held(issuer);
    const used = first().accessToken(of, USE);
    await arrived;
    const waiting = second().accessToken(of, USE);
    goOn();
    assert.equal(await waiting, await used);
    assert.equal(refreshesOf('waiting'), 1);
  });

  test('a store that is silent while the provider answers loses nothing', async () => {
    const { of } = await signIn('outage');
    clock.advance(HOUR_MS);
    const { arrived, goOn } = held(issuer);
    const used = first().accessToken(of, USE);
    await arrived;
    redis.freeze();
    goOn();
    const token = await used;
    assert.notEqual(token, undefined, 'who has waited is served');
    redis.thaw();
    await first().close();
    assert.equal(await until('the store', async () => second().accessToken(of, USE)), token);
    clock.advance(HOUR_MS);
    assert.notEqual(await second().accessToken(of, USE), undefined);
    assert.equal(refreshesOf('outage'), 2);
  });

  /** Another process that refreshes the token of this user, and does nothing else. */
  const otherProcess = (user: string, url: string): ChildProcess => {
    const child = fork(new URL('refreshing-process.ts', import.meta.url), {
      env: { ...process.env, REDIS: redis.address, TOKEN_URL: url, ACCOUNT: user, NOW: String(clock.now()) },
    });
    children.push(child);
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  /** As if that time had passed: locks of processes that were killed end after it. */
  const lockEnds = async (): Promise<void> => {
    const keys = await lockKeys();
    assert.ok(keys.length > 0);
    for (const key of keys) {
      const lifeMs = Number(await redis.command('PTTL', key));
      assert.ok(lifeMs > 0 && lifeMs <= 15_000, `it ends after ${lifeMs} ms`);
      await redis.command('PEXPIRE', key, '1');
    }
  };

  test('a replica that is killed before the provider has its request loses nothing', async () => {
    const { of } = await signIn('killed-early');
    clock.advance(HOUR_MS);
    const silent = await startSilentIssuer();
    const child = otherProcess('killed-early', silent.url);
    await silent.asked;
    await kill(child);
    const used = second().accessToken(of, USE);
    await lockEnds();
    assert.notEqual(await used, undefined);
    assert.equal(refreshesOf('killed-early'), 1);
    await silent.close();
  });

  test('a replica that is killed after it has stored the answer loses nothing', async () => {
    const { of } = await signIn('killed-late');
    clock.advance(HOUR_MS);
    const child = otherProcess('killed-late', issuer.url);
    const [token] = (await once(child, 'message')) as [unknown];
    await kill(child);
    assert.equal(await second().accessToken(of, USE), token);
    assert.equal(refreshesOf('killed-late'), 1);
  });

  test('one that is killed between the answer and the store costs its user a sign-in, and nobody else', async () => {
    const { of } = await signIn('killed-between');
    const other = await signIn('spared');
    clock.advance(HOUR_MS);
    const { arrived, goOn } = held(issuer);
    const child = otherProcess('killed-between', issuer.url);
    await arrived;
    await kill(child);
    goOn();
    const used = second().accessToken(of, USE);
    await lockEnds();
    assert.equal(await used, undefined);
    assert.deepEqual(issuer.reused.splice(0).length, 1, 'the provider takes the earlier token for a stolen one');
    assert.equal((await second().linked(of.user))[0]?.state, 'needs-sign-in');
    assert.notEqual(await second().accessToken(other.of, USE), undefined);
    assert.equal(
      await second().accessToken((await signIn('killed-between')).of, USE),
      await first().accessToken(of, USE),
    );
  });

  test('a provider that is away while all call disconnects none of them', async () => {
    const accounts = await Promise.all(USERS.slice(0, 10).map((user) => signIn(`away-${user}`)));
    clock.advance(HOUR_MS);
    issuer.fault = () => 'away';
    const outcomes = await Promise.allSettled(
      accounts.flatMap(({ of }) => replicas.map((replica) => replica.accessToken(of, USE))),
    );
    assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['rejected']));
    issuer.fault = undefined;
    clock.advance(2_000);
    for (const { of } of accounts) assert.notEqual(await second().accessToken(of, USE), undefined);
  });
});

/** Holds the next answer of the provider, after the tokens were rotated. */
const held = (issuer: TokenIssuer) => {
  const [arrived, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  issuer.beforeAnswer = () => {
    issuer.beforeAnswer = undefined;
    arrived.resolve();
    return going.promise;
  };
  return { arrived: arrived.promise, goOn: going.resolve };
};
