import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import type { Call } from '../../../runtime/call/index.ts';
import { partOf } from '../../../runtime/workflow/kept.ts';
import { waitingRuns, type WaitingRun, type WaitingRuns } from '../../../runtime/workflow/states.ts';
import { taskRecords, type TaskRecord, type TaskRecords } from '../../../runtime/workflow/task-records.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { sharedStore } from '../../fixtures/shared-sessions.ts';

const MOST = 64;
const MINUTE = 60_000;

/** The parts of a call that say whose it is. */
const callOf = (address: string, caller: Call['caller'] = { kind: 'anonymous' }): Call =>
  ({ caller, name: 'deploy', client: { address }, request: { bytes: Buffer.alloc(0) } }) as unknown as Call;

/** Addresses of two parts. */
const here = callOf('192.0.2.1');
const elsewhere = Array.from({ length: 100 }, (_, at) => callOf(`198.51.100.${at}`)).find(
  (call) => partOf(call) !== partOf(here),
) as Call;

describe('what is kept of anonymous clients', () => {
  let clock: FrozenClock;
  let records: TaskRecords;
  let states: WaitingRuns;
  beforeEach(() => {
    clock = frozenClock();
    const deps = { store: sharedStore(clock), clock, entropy: randomBytes };
    [records, states] = [taskRecords(deps), waitingRuns(deps)];
  });

  const createTask = async (call: Call) => {
    const now = clock.now();
    const record: TaskRecord = {
      createdAt: now,
      updatedAt: now,
      endsAt: now + MINUTE,
      params: {},
      state: { kind: 'ended', status: 'completed' },
    };
    const created = await records.create({ caller: call.caller, workflow: 'deploy', part: partOf(call) }, record);
    assert.ok(created);
    clock.advance(1);
    return created.ref;
  };

  /** More than travels with the client. */
  const large = (): WaitingRun => ({
    digest: 'd',
    executionId: 'e',
    startedAt: clock.now(),
    endsAt: clock.now() + MINUTE,
    results: [['a', { status: 'completed', output: 'x'.repeat(20_000) }]],
    asked: {},
  });
  const keep = async (call: Call): Promise<string> => {
    const state = await states.keep(call, large());
    clock.advance(1);
    return state;
  };

  test('is displaced by more of the same addresses, and not by those of another part', async () => {
    const [first, other] = [await createTask(here), await createTask(elsewhere)];
    for (let at = 0; at < MOST; at += 1) await createTask(here);
    assert.equal(await records.read(first), undefined);
    assert.ok(await records.read(other));
  });

  test('so it is with states of workflows that wait', async () => {
    const [first, other] = [await keep(here), await keep(elsewhere)];
    for (let at = 0; at < MOST; at += 1) await keep(here);
    await assert.rejects(states.open(here, first, 'd'), /of no call that waits/);
    assert.equal((await states.open(elsewhere, other, 'd')).executionId, 'e');
  });

  test('is good at another address, and gives back its place where it was taken', async () => {
    const [first, second] = [await keep(here), await keep(here)];
    for (let at = 2; at < MOST; at += 1) await keep(here);
    assert.equal((await states.open(elsewhere, second, 'd')).executionId, 'e');
    await keep(here);
    assert.equal((await states.open(here, first, 'd')).executionId, 'e', 'one more has displaced nothing');
  });

  test('counts for the network of an address, and a user for nothing but the own', () => {
    assert.equal(partOf(callOf('2001:db8::1')), partOf(callOf('2001:db8::ffff')));
    assert.equal(partOf(callOf('192.0.2.1', userOf('ada'))), undefined);
  });
});
