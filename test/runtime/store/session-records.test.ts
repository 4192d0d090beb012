import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import { RECORD_LIMITS } from '../../../runtime/store/session-record.ts';
import { keyOf, seal, sessionName, type SessionRef } from '../../../runtime/store/session-name.ts';
import { sessionRecords } from '../../../runtime/store/session-records.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from './has-code.ts';
import { inEveryStore } from './stores.ts';
import { userOf } from '../../fixtures/callers.ts';

const START = {
  clientName: 'näme',
  revision: '2025-11-25',
  capabilities: Buffer.from('{ "elicitation": {"form": {}} , "big": 12345678901234567890}'),
  createdAt: 1_700_000_000_000,
};
const BOUNDS = { ttlMs: 30_000, unusedTtlMs: 10_000, count: 10_000 };
const alice: Caller = userOf('alice');
const bob: Caller = userOf('bob');
const opened = (sessionId: string) => ({ sessionId, revision: '2025-06-18', path: undefined });

/** Two replicas on one store, and what happened. */
const replicas = (store: Store) => {
  const corrupt: string[] = [];
  const ended: string[] = [];
  const replica = () =>
    sessionRecords(store, BOUNDS, {
      onCorrupt: (name) => void corrupt.push(name),
      announceEnd: async (session) => void ended.push(sessionName(session)),
    });
  return { one: replica(), two: replica(), corrupt, ended };
};

const behaviour = (given: () => Store): void => {
  let count = 0;
  const newSession = (caller: Caller = alice): SessionRef => ({ id: `session-${(count += 1)}`, caller });

  test('another replica finds what one has created, byte by byte', async () => {
    const { one, two } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    const found = await two.find(session);
    assert.deepEqual(found, {
      ...START,
      logLevel: undefined,
      retirement: undefined,
      subscriptions: [],
      backendSessions: new Map(),
    });
    await assert.rejects(two.create(session, START), hasCode('internal'));
  });

  test('the record of a new session holds five things, and no more of its client', async () => {
    const { one } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    const fields = await given().readMap(keyOf('session', sessionName(session)));
    assert.deepEqual([...(fields?.keys() ?? [])].sort(), [
      'capabilities',
      'clientName',
      'createdAt',
      'form',
      'revision',
    ]);
  });

  test('a session is unknown to every other caller', async () => {
    const { one, two } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    const others: Caller[] = [bob, { kind: 'anonymous' }, { ...alice, issuer: 'https://other.example' }];
    for (const caller of others) {
      assert.equal(await two.find({ ...session, caller }), undefined);
      assert.equal(await two.end({ ...session, caller }), false);
      assert.equal(await two.setLogLevel({ ...session, caller }, 'debug'), false);
    }
    assert.equal((await two.find(session))?.logLevel, undefined);
  });

  test('of two replicas that open a backend session at once, the first wins for both', async () => {
    const { one, two } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    const [a, b] = await Promise.all([
      one.saveBackendSession(session, 'github', opened('a')),
      two.saveBackendSession(session, 'github', opened('b')),
    ]);
    assert.equal(a?.sessionId, 'a');
    assert.deepEqual(a, b);
    assert.deepEqual((await two.find(session))?.backendSessions.get('github'), a);
  });

  test('that a session is about to end is taken back once, and a later decision by nobody who knows the earlier one', async () => {
    const { one, two } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    await one.retire(session, 'first');
    assert.equal((await two.find(session))?.retirement, 'first');
    await two.retire(session, 'second');
    assert.equal(await one.takeBackRetirement(session, 'first'), false);
    assert.equal(await one.takeBackRetirement(session, 'second'), true);
    assert.equal(await two.takeBackRetirement(session, 'second'), false);
    assert.equal((await two.find(session))?.retirement, undefined);
    assert.equal(await one.retire(newSession(), 'unknown'), false);
  });

  test('a backend session is forgotten only while it is the one that was meant', async () => {
    const { one, two } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    const first = await one.saveBackendSession(session, 'github', opened('a'));
    assert.ok(first);
    assert.equal(await one.forgetBackendSession(session, 'github', first), true);
    await two.saveBackendSession(session, 'github', opened('b'));
    assert.equal(await one.forgetBackendSession(session, 'github', first), false);
    assert.equal((await one.find(session))?.backendSessions.get('github')?.sessionId, 'b');
  });

  test('log level and subscriptions are seen by every replica', async () => {
    const { one, two } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    await one.setLogLevel(session, 'warning');
    for (const uri of ['file:///ü', 'x:y']) await one.addSubscription(session, { backend: 'a', uri });
    await two.removeSubscription(session, { backend: 'a', uri: 'x:y' });
    const found = await two.find(session);
    assert.equal(found?.logLevel, 'warning');
    assert.deepEqual(found?.subscriptions, [{ backend: 'a', uri: 'file:///ü' }]);
  });

  test('one that has ended stays so, whatever comes late', async () => {
    const { one, two, ended } = replicas(given());
    const session = newSession();
    await one.create(session, START);
    assert.equal(await one.end(session), true);
    assert.deepEqual(ended, [sessionName(session)]);
    assert.equal(await two.saveBackendSession(session, 'github', opened('a')), undefined);
    assert.equal(await two.addSubscription(session, { backend: 'a', uri: 'x:y' }), false);
    assert.equal(await two.keepAlive(session), false);
    assert.equal(await two.find(session), undefined);
    assert.equal(await two.end(session), false);
  });

  test('what is too large is refused', async () => {
    const { one } = replicas(given());
    const session = newSession();
    const capabilities = Buffer.from(JSON.stringify({ a: 'x'.repeat(RECORD_LIMITS.capabilitiesBytes) }));
    await assert.rejects(one.create(session, { ...START, capabilities }), hasCode('invalid_params'));
    await one.create(session, START);
    const long = 'x'.repeat(RECORD_LIMITS.backendSessionBytes);
    await assert.rejects(one.addSubscription(session, { backend: 'a', uri: long }), hasCode('invalid_params'));
    await assert.rejects(one.saveBackendSession(session, 'github', opened(long)), hasCode('backend_unavailable'));
  });

  test('a record that cannot be read is an unknown session, and reported', async () => {
    const store = given();
    const { one, corrupt } = replicas(store);
    const start = { form: '2', revision: '2025-11-25', createdAt: '1', capabilities: '{}' };
    const backendWith = (more: object): Record<string, string> => ({
      ...start,
      'backend:a': JSON.stringify({ sessionId: 'q', revision: '2025-11-25', ...more }),
    });
    const broken: Record<string, string>[] = [
      { form: '2' },
      { ...start, form: '1' },
      { ...start, capabilities: 'garbage' },
      { ...start, revision: '2025-11-25\r\nX-Evil: 1' },
      backendWith({ sessionId: 7 }),
      backendWith({ revision: 'é' }),
      ...[
        'no-slash',
        'http://169.254.169.254/x',
        '//169.254.169.254/x',
        '/\\169.254.169.254/x',
        '/a/../b',
        '/x#y',
        '',
      ].map((path) => backendWith({ path })),
    ];
    const recordOf = (session: SessionRef, fields: Record<string, string>) =>
      new Map(Object.entries(fields).map(([name, value]) => [name, seal(session, name, Buffer.from(value))]));
    for (const fields of broken) {
      const session = newSession();
      await store.createMap(keyOf('session', sessionName(session)), recordOf(session, fields), 60_000);
      assert.equal(await one.find(session), undefined, JSON.stringify(fields));
      assert.equal(corrupt.at(-1), sessionName(session));
    }
    const session = newSession();
    const path = '/mcp/?tenant=%20a';
    await store.createMap(keyOf('session', sessionName(session)), recordOf(session, backendWith({ path })), 60_000);
    assert.equal((await one.find(session))?.backendSessions.get('a')?.path, path);
  });

  test('a record that another program has written to is an unknown session', async () => {
    const store = given();
    const { one, corrupt } = replicas(store);
    const other = newSession();
    const forged = Buffer.from('{"sessionId":"q","revision":"2025-11-25","path":"/admin"}');
    const rows: readonly (readonly [string, (session: SessionRef) => Buffer])[] = [
      ['backend:a', () => forged],
      ['backend:a', () => Buffer.alloc(0)],
      ['backend:a', () => seal(other, 'backend:a', forged)],
      ['backend:a', (session) => seal(session, 'backend:b', forged)],
      ['capabilities', () => Buffer.from('{"sampling":{}}')],
      ['unknown', () => Buffer.from('?')],
    ];
    for (const [field, value] of rows) {
      const session = newSession();
      await one.create(session, START);
      await store.setField(keyOf('session', sessionName(session)), field, value(session));
      if (field === 'backend:a') assert.equal(await one.saveBackendSession(session, 'a', opened('mine')), undefined);
      assert.equal(await one.find(session), undefined);
      assert.equal(corrupt.at(-1), sessionName(session));
    }
  });

  test('what a newer version adds is left alone', async () => {
    const store = given();
    const { one } = replicas(store);
    const session = newSession();
    await one.create(session, START);
    await store.setField(
      keyOf('session', sessionName(session)),
      'fromTheFuture',
      seal(session, 'fromTheFuture', Buffer.from('?')),
    );
    await one.setLogLevel(session, 'info');
    assert.equal((await one.find(session))?.logLevel, 'info');
    const fields = await store.readMap(keyOf('session', sessionName(session)));
    assert.match(fields?.get('fromTheFuture')?.toString() ?? '', /\?$/);
  });
};

inEveryStore('session records', behaviour, (store, redis) => {
  test('no key names the session id, the caller or another secret', async () => {
    const { one } = replicas(store());
    await one.create({ id: 'very-secret-session-id', caller: alice }, START);
    const keys = await redis().command('KEYS', '*');
    assert.doesNotMatch(keys, /very-secret|alice|idp\.example/);
    for (const key of keys.split('\n')) {
      const read = (await redis().command('TYPE', key)) === 'hash' ? ['HGETALL', key] : ['ZRANGE', key, '0', '-1'];
      assert.doesNotMatch(await redis().command(...read), /very-secret|alice|idp\.example/);
    }
  });
});

test('a session ends when it is idle, sooner when it was never used', async () => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  const { one } = replicas(store);
  const [unused, used] = [
    { id: 'unused', caller: alice },
    { id: 'used', caller: alice },
  ];
  for (const session of [unused, used]) await one.create(session, START);
  await one.find(used);
  clock.advance(BOUNDS.unusedTtlMs);
  assert.equal(await one.find(unused), undefined);
  clock.advance(BOUNDS.ttlMs - BOUNDS.unusedTtlMs - 1);
  assert.ok(await one.find(used), 'its idle time began anew');
  clock.advance(BOUNDS.ttlMs - 1);
  assert.ok(await one.keepAlive(used));
  clock.advance(BOUNDS.ttlMs);
  assert.equal(await one.find(used), undefined);
  await store.close();
});
