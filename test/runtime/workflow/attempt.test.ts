import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VmcpError } from '../../../runtime/errors.ts';
import { Cancellation } from '../../../runtime/process/index.ts';
import { attempted } from '../../../runtime/workflow/attempt.ts';
import { StepFailure } from '../../../runtime/workflow/failure.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { covers } from '../../requirements.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const failing = () => {
  let tries = 0;
  const work = async (): Promise<never> => {
    tries += 1;
    throw new StepFailure(`try ${tries}`);
  };
  return { work, tries: () => tries };
};

test('between two attempts the whole delay passes', async () => {
  covers('workflow.on-error.retry-delay');
  const clock = frozenClock();
  const { work, tries } = failing();
  const outcome = attempted(
    { timeoutMs: undefined, retryCount: 2, retryDelayMs: 5_000 },
    { clock, signal: new Cancellation() },
    work,
  );
  const failed = assert.rejects(outcome, new StepFailure('try 3'));
  for (const expected of [1, 2]) {
    await turn();
    assert.equal(tries(), expected);
    clock.advance(4_999);
    await turn();
    assert.equal(tries(), expected);
    clock.advance(1);
  }
  await failed;
  assert.deepEqual(clock.pending(), []);
});

test('a cancelled call is not tried again, and leaves no timer', async () => {
  const clock = frozenClock();
  const signal = new Cancellation();
  const { work, tries } = failing();
  const reason = new VmcpError('cancelled', 'the client went away');
  const outcome = attempted({ timeoutMs: 60_000, retryCount: 9, retryDelayMs: 5_000 }, { clock, signal }, work);
  const failed = assert.rejects(outcome, reason);
  await turn();
  signal.abort(reason);
  await failed;
  assert.equal(tries(), 1);
  assert.deepEqual(clock.pending(), []);
});

test('work that heeds no cancellation is not waited for beyond its time', async () => {
  const clock = frozenClock();
  const outcome = attempted(
    { timeoutMs: 5_000, retryCount: 0, retryDelayMs: 0 },
    { clock, signal: new Cancellation() },
    () => new Promise<never>(() => {}),
  );
  const failed = assert.rejects(outcome, /it took longer than 5s/);
  clock.advance(5_000);
  await failed;
});
