import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../runtime/process/system-clock.ts';

test('a delay beyond what the system can wait does not end at once', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  // 100 years: a duration that the contract allows.
  const timer = systemClock.after(100 * 365 * 24 * 3_600_000, () => assert.fail('fired'));
  await new Promise((resolve) => setImmediate(resolve));
  timer.cancel();
  process.off('warning', onWarning);
  assert.deepEqual(warnings, []);
});
