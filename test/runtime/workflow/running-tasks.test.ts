import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { createMetrics } from '../../../runtime/observe/index.ts';
import { RunningTasks } from '../../../runtime/workflow/running-tasks.ts';
import { taskOwners } from '../../../runtime/workflow/task-owners.ts';
import { taskRecords } from '../../../runtime/workflow/task-records.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { silentLog } from '../../fixtures/runtime.ts';
import { sharedStore } from '../../fixtures/shared-sessions.ts';

const ANONYMOUS: Caller = { kind: 'anonymous' };

describe('room for tasks', () => {
  let running: RunningTasks;
  beforeEach(() => {
    const clock = frozenClock();
    const deps = { store: sharedStore(clock), clock, entropy: randomBytes };
    const [records, { meter }] = [taskRecords(deps), createMetrics()];
    const owners = taskOwners({ ...deps, onCancel: () => {}, onBeat: () => {}, onCutOff: () => {} });
    running = new RunningTasks({ clock, records, owners, meter, log: silentLog });
  });
  /** How many of this many at the same time there is room for. */
  const taken = async (
    callers: readonly Caller[],
    addressOf = (_at: number): string => '192.0.2.1',
  ): Promise<number> => {
    const results = await Promise.allSettled(
      callers.map((caller, at) =>
        running.reserve({ caller, address: addressOf(at), secret: undefined }, async () => ({})),
      ),
    );
    for (const result of results)
      if (result.status === 'rejected')
        assert.ok(result.reason instanceof VmcpError && result.reason.code === 'busy', String(result.reason));
    return results.filter(({ status }) => status === 'fulfilled').length;
  };

  for (const [what, callers, most] of [
    ['32 of one user', Array.from({ length: 40 }, () => userOf('ada')), 32],
    ['64 of the anonymous clients at one address', Array.from({ length: 140 }, () => ANONYMOUS), 64],
    ['1,000 in all', Array.from({ length: 1_100 }, (_, at) => userOf(`user-${at % 50}`)), 1_000],
  ] as const)
    test(`is for ${what}`, async () => assert.equal(await taken(callers), most));

  test('is for 128 of all anonymous clients, and for 64 behind each network of IPv6', async () => {
    const many = Array.from({ length: 140 }, () => ANONYMOUS);
    assert.equal(await taken(many, (at) => `2001:db8:0:1::${at.toString(16)}`), 64);
    assert.equal(await taken(many, (at) => `2001:db8:0:${at}::1`), 64);
  });

  test('is given back where no record is made', async () => {
    const ofStranger = { caller: ANONYMOUS, address: '192.0.2.1', secret: undefined };
    for (let at = 0; at < 200; at += 1) {
      const none: Promise<unknown> = running.reserve(ofStranger, async () => {
        if (at % 2 === 0) throw new Error('no record');
        return undefined;
      });
      if (at % 2 === 0) await assert.rejects(none, /no record/);
      else assert.equal(await none, undefined);
    }
    assert.equal(await taken([ANONYMOUS]), 1);
  });
});
