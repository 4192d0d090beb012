import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Store } from '../../../runtime/store/store.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { type TestCertificates, testCertificates } from '../../fixtures/certificates.ts';
import { noRedis, startRedis, startSentinel, type TestRedis } from '../../fixtures/redis.ts';
import { hasCode } from './has-code.ts';
import { standStill } from './stand-still.ts';
import { onRedis } from './stores.ts';

const soon = { timeoutMs: 10_000, intervalMs: 10 };
const isAway = hasCode('store_unavailable');
const toClose: { readonly close?: () => Promise<void>; readonly stop?: () => Promise<void> }[] = [];
const kept = <T extends (typeof toClose)[number]>(each: T): T => {
  toClose.unshift(each);
  return each;
};
const closeAll = async (): Promise<void> => {
  for (const each of toClose.splice(0)) await (each.close ?? each.stop)?.();
};
const untilState = (store: Store, state: string): Promise<true> =>
  until(state, async () => (store.state() === state ? true : undefined), soon);
const took = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

describe('a Redis that goes away', { skip: noRedis }, () => {
  afterEach(closeAll);

  test('is not one whose answer waits to be read by a process that was short of processor time', async () => {
    const { store, transitions } = onRedis([kept(await startRedis()).address]);
    kept(store);
    await store.firstAnswer;
    await store.set('key', Buffer.from('x'), 60_000);
    const answer = store.get('key');
    await standStill(700);
    assert.equal(String(await answer), 'x');
    assert.equal(transitions.length, 1);
  });

  test('nor is one whose answers are more than a socket holds', async () => {
    const { store, transitions } = onRedis([kept(await startRedis()).address]);
    kept(store);
    await store.firstAnswer;
    await store.set('key', Buffer.alloc(1_000_000, 'x'), 60_000);
    const answers = Array.from({ length: 20 }, () => store.get('key'));
    await standStill(700);
    for (const answer of answers) assert.equal((await answer)?.length, 1_000_000);
    assert.equal(transitions.length, 1);
  });

  test('is missed at once, and is used again within 2 s of its return', async () => {
    const redis = kept(await startRedis());
    const { store, transitions } = onRedis([redis.address]);
    kept(store);
    await store.firstAnswer;
    const heard: string[] = [];
    await store.subscribe('news', (message) => void heard.push(message.toString())).isLive;
    await store.set('key', Buffer.from('x'), 60_000);

    await redis.kill();
    const refusedMs = await took(() => assert.rejects(store.get('key'), isAway));
    assert.ok(refusedMs < 400, `${refusedMs} ms`);
    await untilState(store, 'down');
    await assert.rejects(store.publish('news', Buffer.from('lost')), isAway);

    await redis.start();
    const healedMs = await took(() => untilState(store, 'up'));
    assert.ok(healedMs < 2_000, `${healedMs} ms`);
    assert.equal(await store.get('key'), undefined);
    await store.publish('news', Buffer.from('again'));
    await until('the message', async () => (heard.length > 0 ? true : undefined), soon);
    assert.deepEqual(heard, ['again']);
    assert.deepEqual(
      transitions.map(({ state }) => state),
      ['up', 'down', 'up'],
    );
  });

  test('fails the calls that wait for it', async () => {
    const redis = kept(await startRedis());
    const store = kept(onRedis([redis.address], { times: { connectMs: 500, commandMs: 5_000, pingMs: 60_000 } }).store);
    await store.firstAnswer;
    redis.freeze();
    const waiting = [store.get('a'), store.take('b'), store.publish('c', Buffer.from('x'))];
    const refused = Promise.all(waiting.map((each) => assert.rejects(each, isAway)));
    await redis.kill();
    assert.ok((await took(() => refused)) < 1_000);
  });

  test('that keeps its connections and says nothing is missed within the deadline of a call', async () => {
    const redis = kept(await startRedis());
    const { store, transitions } = onRedis([redis.address], {
      times: { connectMs: 300, commandMs: 200, pingMs: 60_000 },
    });
    kept(store);
    await store.firstAnswer;
    redis.freeze();
    assert.ok((await took(() => assert.rejects(store.get('a'), isAway))) < 1_000);
    assert.equal(store.state(), 'down');
    assert.ok((await took(() => assert.rejects(store.get('a'), isAway))) < 150);
    redis.thaw();
    await untilState(store, 'up');
    assert.deepEqual(
      transitions.map(({ reason }) => reason),
      ['', 'no answer in time', ''],
    );
  });

  test('that falls silent is missed without any call', async () => {
    const redis = kept(await startRedis());
    const store = kept(onRedis([redis.address], { times: { connectMs: 300, commandMs: 100, pingMs: 50 } }).store);
    await store.firstAnswer;
    redis.freeze();
    await untilState(store, 'down');
    redis.thaw();
    await untilState(store, 'up');
  });

  test('was not there at the start: one line in the log, and it is used as soon as it comes', async () => {
    const redis = kept(await startRedis());
    await redis.kill();
    const { store, transitions } = onRedis([redis.address]);
    kept(store);
    await assert.rejects(store.get('key'), isAway);
    const subscription = store.subscribe('news', () => {});
    await until('the line', async () => (transitions.length > 0 ? true : undefined), soon);
    await redis.start();
    await store.firstAnswer;
    await subscription.isLive;
    assert.deepEqual(transitions, [
      { state: 'down', reason: 'ECONNREFUSED' },
      { state: 'up', reason: '' },
    ]);
  });
});

describe('how one gets into a Redis', { skip: noRedis }, () => {
  afterEach(closeAll);

  test('the password is read at every connect', async () => {
    const redis = kept(await startRedis({ password: 'right' }));
    const environment = { PASSWORD: 'wrong' };
    const { store, transitions } = onRedis([redis.address], { password: { environment: 'PASSWORD' } }, { environment });
    kept(store);
    await until('the refusal', async () => (transitions.length > 0 ? true : undefined), soon);
    assert.deepEqual(transitions, [
      { state: 'down', reason: 'WRONGPASS invalid username-password pair or user is disabled.' },
    ]);
    await assert.rejects(store.get('key'), isAway);
    environment.PASSWORD = 'right';
    await store.firstAnswer;
    await store.set('key', Buffer.from('x'), 60_000);
  });

  test('without its password it is away, and the reason says so', async () => {
    const redis = kept(await startRedis({ password: 'right' }));
    const { store, transitions } = onRedis([redis.address]);
    kept(store);
    await until('the refusal', async () => (transitions.length > 0 ? true : undefined), soon);
    assert.equal(transitions[0]?.reason, 'NOAUTH Authentication required.');
  });

  test('a user with rights on its prefix alone is enough', async () => {
    const redis = kept(
      await startRedis({
        lines: [
          'user default off',
          'user vmcp on >secret ~test:* &test:* +@read +@write +@pubsub +@scripting +@connection +time',
        ],
      }),
    );
    const settings = { username: 'vmcp', password: { environment: 'PASSWORD' } };
    const store = kept(onRedis([redis.address], settings, { environment: { PASSWORD: 'secret' } }).store);
    await store.firstAnswer;
    const room = { name: 'maps', limit: 1 };
    for (const key of ['displaced', 'map'])
      await store.createMap(key, new Map([['a', Buffer.from('1')]]), 60_000, room);
    assert.equal((await store.readMap('map', 1_000, room))?.size, 1);
    assert.equal(await store.touch('map', 1_000, room), true);
    assert.equal(await store.delete('map', room), true);
    assert.deepEqual(await store.takeTokens([{ key: 'bucket', capacity: 1, refillPeriodMs: 60_000 }]), { waitMs: 0 });
    await store.subscribe('news', () => {}).isLive;
    await store.publish('news', Buffer.from('x'));
  });

  test('the name of a user may be kept in a file, like its password', async () => {
    const redis = kept(await startRedis({ lines: ['user default off', 'user vmcp on >secret ~* &* +@all'] }));
    const folder = await scratchFolder('user');
    kept({ stop: folder.remove });
    const username = { file: join(folder.path, 'username') };
    const password = { file: join(folder.path, 'password') };
    await writeFile(username.file, 'vmcp\n');
    await writeFile(password.file, 'secret\n');
    const store = kept(onRedis([redis.address], { username, password }).store);
    await store.firstAnswer;
    await store.set('key', Buffer.from('x'), 60_000);
  });

  test('keys lie in the database that is named, and in no other', async () => {
    const redis = kept(await startRedis());
    const store = kept(onRedis([redis.address], { db: 5 }).store);
    await store.firstAnswer;
    await store.set('key', Buffer.from('x'), 60_000);
    assert.equal(await redis.command('-n', '5', 'KEYS', '*'), 'test:key');
    assert.equal(await redis.command('-n', '0', 'KEYS', '*'), '');
  });

  test('a database that the server does not have is not taken for another', async () => {
    const redis = kept(await startRedis());
    const { store, transitions } = onRedis([redis.address], { db: 4_711 });
    kept(store);
    await until('the refusal', async () => (transitions.length > 0 ? true : undefined), soon);
    assert.deepEqual(transitions, [{ state: 'down', reason: 'ERR DB index is out of range' }]);
  });
});

describe('a Redis behind TLS', { skip: noRedis }, () => {
  let certificates: TestCertificates;
  let redis: TestRedis;
  before(async () => {
    certificates = await testCertificates();
    redis = await startRedis({ tls: certificates });
  });
  afterEach(closeAll);
  after(async () => {
    await redis.stop();
    await certificates.remove();
  });

  test('is trusted when the given authority signed it', async () => {
    const store = kept(
      onRedis([redis.address], { tls: { caFile: certificates.caFile, insecureSkipVerify: false } }).store,
    );
    await store.firstAnswer;
    await store.set('key', Buffer.from('x'), 60_000);
    const byName = redis.address.replace('127.0.0.1', 'localhost');
    await kept(onRedis([byName], { tls: { caFile: certificates.caFile, insecureSkipVerify: false } }).store)
      .firstAnswer;
  });

  test('is not trusted otherwise, unless the settings say so', async () => {
    const { store, transitions } = onRedis([redis.address], { tls: { insecureSkipVerify: false } });
    kept(store);
    await until('the refusal', async () => (transitions.length > 0 ? true : undefined), soon);
    assert.match(transitions[0]?.reason ?? '', /CERT|SIGNATURE/);
    await kept(onRedis([redis.address], { tls: { insecureSkipVerify: true } }).store).firstAnswer;
  });

  test('an authority that cannot be read keeps it away', async () => {
    const { store, transitions } = onRedis([redis.address], {
      tls: { caFile: '/nowhere/ca.crt', insecureSkipVerify: false },
    });
    kept(store);
    await until('the refusal', async () => (transitions.length > 0 ? true : undefined), soon);
    assert.deepEqual(transitions, [{ state: 'down', reason: 'ENOENT' }]);
  });
});

describe('a Redis behind sentinels', { skip: noRedis }, () => {
  afterEach(closeAll);

  test('is followed to the new master', async () => {
    const set = kept(await startSentinel());
    const { store, transitions } = onRedis([set.sentinel.address], {
      sentinel: { masterName: 'main' },
    });
    kept(store);
    await store.firstAnswer;
    await store.set('key', Buffer.from('x'), 60_000);
    await until(
      'the copy',
      async () => ((await set.replica.command('KEYS', '*')) === 'test:key' ? true : undefined),
      soon,
    );
    await set.master.kill();
    await untilState(store, 'down');
    await until('the new master', async () => ((await store.get('key')) ? true : undefined), { timeoutMs: 20_000 });
    await untilState(store, 'up');
    await store.set('key', Buffer.from('y'), 60_000);
    assert.equal(await set.replica.command('GET', 'test:key'), 'y');
    assert.deepEqual(
      transitions.map(({ state }) => state),
      ['up', 'down', 'up'],
    );
  });
});
