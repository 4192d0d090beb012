import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  type BegunCall,
  CircuitBreaker,
  type CheckOutcome,
} from '../../../../runtime/backends/discovery/circuit-breaker.ts';
import type { FailedPart } from '../../../../runtime/backends/discovery/failures-in-row.ts';
import type { CircuitState } from '../../../../runtime/status/report.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

let circuit: CircuitBreaker;
/** Checks that were asked for. */
let doubts: number;

const open = (failureThreshold: number): void => {
  doubts = 0;
  circuit = new CircuitBreaker({
    backend: 'a',
    clock: frozenClock(),
    settings: { isEnabled: true, failureThreshold, timeoutMs: 60_000 },
    onChange: () => {},
    onHeld: () => {},
    onReleased: () => {},
    onDoubted: () => (doubts += 1),
  });
};
const state = (): CircuitState | undefined => circuit.circuit?.state;
const begin = (times: number, caller?: string): readonly BegunCall[] =>
  Array.from({ length: times }, () => circuit.beginCall(caller));
const failCalls = (times: number, caller?: string, part?: FailedPart): void => {
  for (let n = 0; n < times; n += 1) circuit.callFailed(circuit.beginCall(caller), part);
};
const check = (outcome: CheckOutcome): void => circuit.checkEnded(circuit.beginCheck(), outcome);

describe('one caller', () => {
  beforeEach(() => open(5));

  for (const caller of ['mallory', undefined])
    test(`${caller}: calls that fail together open no circuit where another has succeeded since they were sent`, () => {
      const hanging = begin(20, caller);
      circuit.callSucceeded(circuit.beginCall('alice'));
      for (const each of hanging) circuit.callFailed(each);
      assert.deepEqual([state(), doubts], ['closed', 0]);
      failCalls(5);
      assert.equal(state(), 'open');
    });

  test('counts for half of the threshold, and has the backend checked, which decides', () => {
    failCalls(4, 'mallory');
    assert.equal(doubts, 0);
    failCalls(96, 'mallory');
    assert.deepEqual([state(), doubts], ['closed', 96]);
    check('undecided');
    check('succeeded');
    failCalls(1, 'alice');
    assert.equal(state(), 'closed');
    failCalls(1, 'bob');
    assert.equal(state(), 'open');
    open(5);
    failCalls(5, 'mallory');
    check('failed');
    assert.equal(state(), 'open');
  });

  test('counts in full where a check has failed already', () => {
    check('failed');
    failCalls(3, 'alice');
    assert.equal(state(), 'closed');
    failCalls(1, 'alice');
    assert.deepEqual([state(), doubts], ['open', 0]);
  });

  test('for whom no credential is issued counts once, whatever checks say, and nothing is checked for that', () => {
    check('failed');
    failCalls(100, 'mallory', 'credential');
    assert.deepEqual([state(), doubts], ['closed', 0]);
    for (const caller of ['alice', 'bob']) failCalls(1, caller, 'credential');
    assert.equal(state(), 'closed');
    failCalls(1, 'carol', 'credential');
    assert.equal(state(), 'open');
  });

  for (const [failureThreshold, callers] of [
    [1, 1],
    [2, 2],
    [3, 2],
    [100, 2],
  ] as const)
    test(`threshold ${failureThreshold}: it opens with failures of ${callers}`, () => {
      open(failureThreshold);
      for (let n = 1; n < callers; n += 1) failCalls(failureThreshold, `user-${n}`);
      assert.equal(state(), 'closed');
      failCalls(Math.floor(failureThreshold / 2) || 1, 'the last');
      assert.equal(state(), 'open');
    });

  test('is not told apart from others where a thousand have failed already', () => {
    open(2_000);
    for (let n = 0; n < 1_000; n += 1) failCalls(1, `user-${n}`, 'credential');
    failCalls(999, 'one more', 'credential');
    assert.equal(state(), 'closed');
    failCalls(1, 'one more', 'credential');
    assert.equal(state(), 'open');
  });
});
