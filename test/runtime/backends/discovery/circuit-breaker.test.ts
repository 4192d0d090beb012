import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { CircuitBreaker, type CheckOutcome } from '../../../../runtime/backends/discovery/circuit-breaker.ts';
import type { CircuitState } from '../../../../runtime/status/report.ts';
import { frozenClock, type FrozenClock } from '../../../fixtures/frozen-clock.ts';
import { hasCode } from '../../store/has-code.ts';

const SETTINGS = { isEnabled: true, failureThreshold: 3, timeoutMs: 60_000 };

let clock: FrozenClock;
let circuit: CircuitBreaker;
let changes: CircuitState[];
let told: ('held' | 'released')[];

const open = (settings: Partial<typeof SETTINGS> = {}): void => {
  clock = frozenClock();
  changes = [];
  told = [];
  circuit = new CircuitBreaker({
    backend: 'a',
    clock,
    settings: { ...SETTINGS, ...settings },
    onChange: (state) => changes.push(state),
    onHeld: () => told.push('held'),
    onReleased: () => told.push('released'),
    onDoubted: () => assert.fail('nobody is known'),
  });
};
const state = (): CircuitState | undefined => circuit.circuit?.state;
const failCalls = (times: number): void => {
  for (let n = 0; n < times; n += 1) circuit.callFailed(circuit.beginCall());
};
const check = (outcome: CheckOutcome): void => circuit.checkEnded(circuit.beginCheck(), outcome);

beforeEach(() => open());

describe('a closed circuit', () => {
  test('opens at the failure that makes the threshold full, calls and checks counted together', () => {
    failCalls(1);
    check('failed');
    assert.equal(state(), 'closed');
    failCalls(1);
    assert.deepEqual([state(), changes, told], ['open', ['open'], ['held']]);
  });

  test('counts anew after a call that succeeded', () => {
    failCalls(1);
    check('failed');
    circuit.callSucceeded(circuit.beginCall());
    check('failed');
    failCalls(1);
    assert.equal(state(), 'closed');
  });

  test('takes failed checks off the row when a check succeeds, and no failed call: some answer ping and nothing else', () => {
    check('failed');
    check('failed');
    check('succeeded');
    check('failed');
    check('failed');
    assert.equal(state(), 'closed');
    check('succeeded');
    failCalls(2);
    check('succeeded');
    failCalls(1);
    assert.equal(state(), 'open');
  });

  test('learns nothing from a check that was never sent', () => {
    failCalls(2);
    check('undecided');
    assert.equal(state(), 'closed');
    failCalls(1);
    assert.equal(state(), 'open');
  });
});

describe('an open circuit', () => {
  beforeEach(() => failCalls(3));

  test('refuses calls and checks until its time is over, and lets the first check through as its trial', () => {
    assert.throws(() => circuit.beginCall(), hasCode('circuit_open'));
    assert.equal(circuit.isHeld, true);
    clock.advance(59_999);
    assert.deepEqual([circuit.isHeld, told], [true, ['held']]);
    clock.advance(1);
    assert.deepEqual([circuit.isHeld, circuit.isTrialDue, told, state()], [false, true, ['held', 'released'], 'open']);
    circuit.beginCheck();
    assert.equal(state(), 'half-open');
    assert.throws(() => circuit.beginCall(), hasCode('circuit_open'));
  });

  for (const outcome of ['failed', 'undecided'] as const) {
    test(`opens again for its whole time when the trial ${outcome === 'failed' ? 'fails' : 'could not be sent'}`, () => {
      clock.advance(60_000);
      const openedAt = clock.now() + 500;
      const trial = circuit.beginCheck();
      clock.advance(500);
      circuit.checkEnded(trial, outcome);
      assert.deepEqual(circuit.circuit, { state: 'open', changedAt: openedAt });
      clock.advance(59_999);
      assert.equal(circuit.isHeld, true);
      clock.advance(1);
      assert.equal(circuit.isHeld, false);
    });
  }

  test('closes when the trial succeeds, and then counts from nothing', () => {
    clock.advance(60_000);
    check('succeeded');
    assert.deepEqual(changes, ['open', 'half-open', 'closed']);
    failCalls(2);
    assert.equal(state(), 'closed');
  });

  test('takes nothing from what was sent before it opened', () => {
    open();
    const [late, later] = [circuit.beginCall(), circuit.beginCall()];
    const earlier = circuit.beginCheck();
    failCalls(3);
    circuit.callSucceeded(late);
    circuit.checkEnded(earlier, 'succeeded');
    assert.equal(state(), 'open');
    clock.advance(60_000);
    check('succeeded');
    failCalls(2);
    circuit.callFailed(later);
    assert.equal(state(), 'closed');
  });

  test('waits by a timeout that is changed meanwhile, counted from the opening', () => {
    clock.advance(10_000);
    circuit.configure({ ...SETTINGS, timeoutMs: 15_000 });
    clock.advance(4_999);
    assert.equal(circuit.isHeld, true);
    clock.advance(1);
    assert.equal(circuit.isHeld, false);
  });

  test('has its trial at once when the new timeout is over already', () => {
    clock.advance(30_000);
    circuit.configure({ ...SETTINGS, timeoutMs: 1_000 });
    clock.advance(0);
    assert.deepEqual([circuit.isHeld, told], [false, ['held', 'released']]);
  });

  test('keeps its state when only the threshold changes, or nothing', () => {
    circuit.configure({ ...SETTINGS, failureThreshold: 9 });
    circuit.configure({ ...SETTINGS, failureThreshold: 9 });
    assert.deepEqual([state(), told, clock.pending()], ['open', ['held'], [60_000]]);
  });

  test('lets everything through when the breaker is turned off, and is closed and new when it is turned on', () => {
    circuit.configure({ ...SETTINGS, isEnabled: false });
    assert.deepEqual([circuit.circuit, circuit.isClosed, told], [undefined, true, ['held', 'released']]);
    assert.deepEqual(clock.pending(), []);
    failCalls(100);
    circuit.configure(SETTINGS);
    assert.deepEqual(circuit.circuit, { state: 'closed' });
    failCalls(2);
    assert.equal(state(), 'closed');
  });

  test('leaves no timer behind when it is stopped', () => {
    circuit.stop();
    assert.deepEqual(clock.pending(), []);
  });
});
