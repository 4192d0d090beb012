import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import { decodeMessage, encodeMessage, MAX_PAYLOAD_BYTES } from '../../../runtime/store/replica-message.ts';
import { type ReplicaMessages, replicaMessages } from '../../../runtime/store/replica-messages.ts';
import { keyOf, seal, sessionName, type SessionRef } from '../../../runtime/store/session-name.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { hasCode } from './has-code.ts';
import { onRedis } from './stores.ts';
import { userOf } from '../../fixtures/callers.ts';

const SESSION: SessionRef = { id: 'secret', caller: { kind: 'anonymous' } };
const OTHER: SessionRef = { id: 'secret', caller: userOf('alice') };
const NAME = sessionName(SESSION);
const sessionOf = (name: string): SessionRef | undefined =>
  [SESSION, OTHER].find((session) => sessionName(session) === name);
const MIB = 1024 * 1024;
const SLOW = { connectMs: 1_000, commandMs: 500, pingMs: 1_000_000 };
const DEAF = {
  sessionOf,
  answered: () => {},
  sessionEnded: () => {},
  sessionChanged: () => {},
  requestCancelled: () => {},
};
const soon = { timeoutMs: 5_000, intervalMs: 5 };

interface Replica extends ReplicaMessages {
  readonly heard: string[];
}

const behaviour = (stores: () => readonly [Store, Store]): void => {
  let count = 0;
  const open: Replica[] = [];
  const replicas = async (): Promise<readonly [Replica, Replica]> => {
    const both = stores().map((store) => {
      const heard: string[] = [];
      count += 1;
      const messages = replicaMessages(
        store,
        {
          sessionOf,
          answered: ({ session, ask, outcome, payload }) => void heard.push([session, ask, outcome, payload].join(' ')),
          sessionEnded: (session) => void heard.push(`ended ${session}`),
          sessionChanged: (session) => void heard.push(`changed ${session}`),
          requestCancelled: (session, id) => void heard.push(`cancelled ${session} ${id.toString()}`),
        },
        `replica000000000${count}`,
      );
      return { ...messages, heard };
    });
    open.push(...both);
    await Promise.all(both.map(({ isLive }) => isLive));
    return both as unknown as readonly [Replica, Replica];
  };
  const hears = (replica: Replica, what: string): Promise<true> =>
    until(what, async () => (replica.heard.includes(what) ? true : undefined), soon);
  afterEach(() => {
    for (const each of open.splice(0)) each.close();
  });

  test('an answer reaches the replica that asked, and no other', async () => {
    const [one, two] = await replicas();
    const ask = one.newRequestId();
    assert.equal(one.isOwnRequestId(ask), true);
    assert.equal(two.isOwnRequestId(ask), false);
    const payload = Buffer.from('{"action":"accept", "n": 1.50}');
    assert.equal(await two.sendAnswer(SESSION, { ask, outcome: 'result', payload }), true);
    await hears(one, `${NAME} ${ask} result ${payload.toString()}`);
    assert.deepEqual(two.heard, []);
  });

  test('an id that no replica gave out leads nowhere', async () => {
    const [one] = await replicas();
    for (const ask of ['1', 'replicas', '../x-1', `${'a'.repeat(33)}-1`, 'replica0000000001\n-1']) {
      assert.equal(await one.sendAnswer(SESSION, { ask, outcome: 'error', payload: Buffer.from('{}') }), false);
    }
  });

  test('that a session has ended, or a request was cancelled, reaches every replica', async () => {
    const [one, two] = await replicas();
    await one.announceEnd(SESSION);
    await one.announceChange(SESSION);
    await one.announceCancel(SESSION, Buffer.from('"x-7"'));
    await hears(two, `changed ${NAME}`);
    for (const each of [one, two]) {
      await hears(each, `ended ${NAME}`);
      await hears(each, `cancelled ${NAME} "x-7"`);
    }
  });

  test('a message finds the stream of its session', async () => {
    const [one, two] = await replicas();
    const got: string[] = [];
    const subscription = two.listenForStream(SESSION, (message) => void got.push(message.toString()));
    await subscription.isLive;
    assert.equal(one.sendToStream(OTHER, Buffer.from('{"no":1}')), true);
    assert.equal(one.sendToStream(SESSION, Buffer.from('{"yes":1}')), true);
    await until('the message', async () => (got.length > 0 ? true : undefined), soon);
    assert.deepEqual(got, ['{"yes":1}']);
    subscription.end();
  });

  test('messages of other programs are ignored', async () => {
    const [one, two] = await replicas();
    const [store] = stores();
    const strange = [
      '',
      'garbage',
      `{"kind":"unknown","session":"${NAME}"}\n`,
      '{"kind":"ended","session":"a b"}\n',
      `{"kind":"cancelled","session":"${NAME}"}\nnot json`,
    ];
    for (const each of strange) {
      await store.publish('replicas', Buffer.from(each));
      await store.publish('replicas', seal(SESSION, 'message', Buffer.from(each)));
    }
    await two.announceEnd(SESSION);
    await hears(one, `ended ${NAME}`);
    assert.deepEqual(one.heard, [`ended ${NAME}`]);
  });

  test('who does not know the session says nothing about it, whatever reaches the store', async () => {
    const [one, two] = await replicas();
    const [store] = stores();
    const strangers: SessionRef[] = [
      { ...SESSION, id: NAME },
      { ...SESSION, id: '' },
      { ...SESSION, caller: OTHER.caller },
    ];
    const forged = (stranger: SessionRef, message: object): Buffer =>
      seal(stranger, 'message', Buffer.from(`${JSON.stringify({ session: NAME, ...message })}\n"q"`));
    const got: string[] = [];
    const subscription = one.listenForStream(SESSION, (message) => void got.push(message.toString()));
    await subscription.isLive;
    for (const stranger of strangers) {
      for (const kind of ['ended', 'changed', 'cancelled']) await store.publish('replicas', forged(stranger, { kind }));
      const answer = { kind: 'answer', ask: one.newRequestId(), outcome: 'result' };
      await store.publish('replicas', forged(stranger, answer));
      await store.publish(keyOf('stream', NAME), forged(stranger, { kind: 'stream' }));
    }
    two.sendToStream(SESSION, Buffer.from('"ours"'));
    await two.announceCancel(SESSION, Buffer.from('1'));
    await hears(one, `cancelled ${NAME} 1`);
    await until('the message', async () => (got.length > 0 ? true : undefined), soon);
    assert.deepEqual([one.heard, got], [[`cancelled ${NAME} 1`], ['"ours"']]);
    subscription.end();
  });

  test('what is too large is refused before it is sent', async () => {
    const [one] = await replicas();
    const huge = Buffer.alloc(MAX_PAYLOAD_BYTES + 1, ' ');
    assert.equal(one.sendToStream(SESSION, huge), false);
    const answer = { ask: one.newRequestId(), outcome: 'result', payload: huge } as const;
    await assert.rejects(one.sendAnswer(SESSION, answer), hasCode('body_too_large'));
  });
};

describe('messages of replicas in one process', () => {
  const store = memoryStore({ clock: systemClock });
  after(() => store.close());
  behaviour(() => [store, store]);
});

describe('messages of replicas through Redis', { skip: noRedis }, () => {
  let redis: TestRedis;
  let stores: readonly [Store, Store];
  before(async () => {
    redis = await startRedis();
    stores = [onRedis([redis.address]).store, onRedis([redis.address]).store];
    await Promise.all(stores.map(({ firstAnswer }) => firstAnswer));
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await redis.stop();
  });
  behaviour(() => stores);

  test('what waits for a slow Redis is bounded, and no sign that it is away', async () => {
    const clock = frozenClock();
    const { store, transitions } = onRedis([redis.address], { times: SLOW }, { clock });
    const one = replicaMessages(store, DEAF, 'replica0000000000');
    await store.firstAnswer;
    const message = Buffer.from(`"${'x'.repeat(64 * 1024)}"`);
    const fill = (id: string): number => {
      let bytes = 0;
      while (bytes <= 64 * MIB && one.sendToStream({ ...SESSION, id }, message)) bytes += message.length;
      return bytes;
    };
    redis.freeze();
    const first = fill('s0');
    assert.ok(first > 0 && first <= MIB, `${first} bytes of one session`);
    const all = Array.from({ length: 32 }, (_, at) => fill(`s${at + 1}`)).reduce((sum, bytes) => sum + bytes, first);
    assert.ok(all > 4 * MIB && all <= 9 * MIB, `${all} bytes of all`);
    const large = { outcome: 'result', payload: Buffer.alloc(3 * MIB, '1'), ask: 'anothereplica000-1' } as const;
    const answers = Array.from({ length: 5 }, (_, at) => one.sendAnswer({ ...SESSION, id: `s${at}` }, large));
    const settled = Promise.allSettled(answers);
    clock.advance(60_000);
    redis.thaw();
    const refused = (await settled).flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    assert.equal(refused.length, 3);
    assert.ok(refused.every(hasCode('overloaded')));
    await until('room', async () => (one.sendToStream({ ...SESSION, id: 's0' }, message) ? true : undefined), soon);
    assert.equal(await store.get('key'), undefined);
    assert.deepEqual(transitions, [{ state: 'up', reason: '' }]);
    await store.close();
  });
});

test('a message is read as it was written, and what a newer version adds is dropped', () => {
  const payload = Buffer.from('{"big":12345678901234567890}\n');
  const told = { kind: 'stream', payload } as const;
  assert.deepEqual(decodeMessage(encodeMessage(SESSION, told), sessionOf), { ...told, session: NAME });
  const newer = Buffer.from(`{"kind":"ended","session":"${NAME}","why":"?"}\n`);
  assert.deepEqual(decodeMessage(seal(SESSION, 'message', newer), sessionOf), { kind: 'ended', session: NAME });
});
