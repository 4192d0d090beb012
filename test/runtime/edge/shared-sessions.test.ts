import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import type { SharedSessions } from '../../../runtime/edge/index.ts';
import type { Store } from '../../../runtime/store/index.ts';
import { fakeStream } from '../../fixtures/fake-stream.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { sharedSessions, sharedStore, TTL_MS } from '../../fixtures/shared-sessions.ts';

const who: Caller = { kind: 'anonymous' };
const CLIENT = { revision: '2025-11-25', capabilities: Buffer.from('{}') };
const MINUTE = 60_000;

let clock: FrozenClock;
let sessions: SharedSessions;
beforeEach(() => {
  clock = frozenClock();
  sessions = sharedSessions(clock, sharedStore(clock));
});

/** Moves time in steps, so that what each sweep has begun is done before the next. */
const pass = async (ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += MINUTE) {
    clock.advance(Math.min(MINUTE, ms - passed));
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('shared sessions, at one replica,', () => {
  test('are dropped once they have been idle for longer than a record lives', async () => {
    const { id } = await sessions.create(who, CLIENT);
    await sessions.use(id, who);
    await pass(TTL_MS);
    assert.equal(sessions.size, 1);
    await pass(TTL_MS / 10 + MINUTE);
    assert.equal(sessions.size, 0);
  });

  test('are kept while a stream is open, and for their idle time after it', async () => {
    const session = await sessions.create(who, CLIENT);
    await sessions.use(session.id, who);
    const { stream, close } = fakeStream();
    session.listen(stream);
    await pass(2 * TTL_MS);
    close();
    await pass(TTL_MS);
    assert.equal(await sessions.use(session.id, who), session);
  });

  test('hear the others on a stream that is opened while they are looked through', async () => {
    const store = sharedStore(clock);
    const subscribed = Promise.withResolvers<void>();
    // As at a store that takes its time.
    const slow: Store = {
      ...store,
      subscribe: (channel, listener) => {
        const subscription = store.subscribe(channel, listener);
        return channel.startsWith('stream:') ? { ...subscription, isLive: subscribed.promise } : subscription;
      },
    };
    const [here, there] = [sharedSessions(clock, slow, 'a'), sharedSessions(clock, store, 'b')];
    const session = await here.create(who, CLIENT);
    clock.advance(MINUTE - 1);
    await here.use(session.id, who);
    const prepared = session.prepareToListen();
    clock.advance(1);
    subscribed.resolve();
    await prepared;
    const { stream, messages } = fakeStream();
    session.listen(stream);
    (await there.use(session.id, who)).sendOnStream(Buffer.from('"from the other replica"'));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(messages, ['"from the other replica"']);
  });

  test('hear nothing from the others once no stream has been open for a while', async () => {
    const store = sharedStore(clock);
    const channels = new Set<string>();
    const watched: Store = {
      ...store,
      subscribe: (channel, listener) => {
        const subscription = store.subscribe(channel, listener);
        channels.add(channel);
        const end = (): void => {
          channels.delete(channel);
          subscription.end();
        };
        return { ...subscription, end };
      },
    };
    const here = sharedSessions(clock, watched);
    const before = channels.size;
    const session = await here.create(who, CLIENT);
    await session.prepareToListen();
    const { stream, close } = fakeStream();
    session.listen(stream);
    await pass(MINUTE);
    assert.equal(channels.size, before + 1);
    close();
    await pass(MINUTE);
    assert.equal(channels.size, before);
  });
});
