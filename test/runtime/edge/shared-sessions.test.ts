import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call.ts';
import type { SharedSessions } from '../../../runtime/edge/index.ts';
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
});
