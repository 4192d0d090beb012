import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { objectToRetirement, Retirements } from '../../../runtime/edge/retirements.ts';
import { sessionRecords, type SessionRef } from '../../../runtime/store/index.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { sharedStore, TTL_MS } from '../../fixtures/shared-sessions.ts';

const REF: SessionRef = { id: 'a1', caller: { kind: 'anonymous' } };
const START = { revision: '2025-11-25', capabilities: Buffer.from('{}'), createdAt: 0 };

let clock: FrozenClock;
let records: ReturnType<typeof sessionRecords>;
let ended: SessionRef[];
let marks: number;

const replica = (): Retirements =>
  new Retirements({
    clock,
    records,
    messages: { announceChange: async () => {} },
    newId: () => `mark-${(marks += 1)}`,
    end: async (session) => void ended.push(session),
  });

const pass = async (ms: number): Promise<void> => {
  await setImmediate();
  clock.advance(ms);
  await setImmediate();
};

const seenBy = async (isCallerValid: boolean): Promise<void> => {
  await setImmediate();
  const record = await records.find(REF);
  assert.ok(record);
  objectToRetirement({ ref: REF, session: { isCallerValid } }, record, records);
};

describe('a session that a replica has left for good', () => {
  beforeEach(async () => {
    clock = frozenClock();
    const bounds = { ttlMs: TTL_MS, unusedTtlMs: TTL_MS, count: 10 };
    records = sessionRecords(sharedStore(clock), bounds, { onCorrupt: () => {}, announceEnd: async () => {} });
    ended = [];
    marks = 0;
    await records.create(REF, START);
  });

  test('ends after 30 s', async () => {
    replica().begin(REF);
    await pass(29_999);
    assert.deepEqual(ended, []);
    await pass(1);
    assert.deepEqual(ended, [REF]);
  });

  test('does not end where another replica knows its caller, and does where that one knows of no valid token', async () => {
    for (const isValid of [true, false]) {
      replica().begin(REF);
      await seenBy(isValid);
      await pass(30_000);
      assert.deepEqual(ended, isValid ? [] : [REF]);
    }
  });

  test('ends once, a while after the last replica has left it', async () => {
    replica().begin(REF);
    await pass(20_000);
    replica().begin(REF);
    await pass(29_999);
    assert.deepEqual(ended, []);
    await pass(1);
    assert.deepEqual(ended, [REF]);
  });

  test('does not end here where it has ended already', async () => {
    replica().begin(REF);
    await setImmediate();
    await records.end(REF);
    await pass(30_000);
    assert.deepEqual(ended, []);
  });
});
