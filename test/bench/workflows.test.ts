import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const BENCH = join(import.meta.dirname, '../../bench/workflows/run.ts');

test(
  'the benchmark of workflows still runs: every way has its row, every target its figure',
  { timeout: 300_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [BENCH, '--quick']);
    assert.match(stdout, /^\| 1 \| calls \| .*\n\| 1 \| workflows of 20 steps \| \d+ \| 20 \| /m);
    assert.match(stdout, /^\| 2 \| calls \| .*\n\| 2 \| forEach of 1,000 items \| [\d.]+ \| 20 \| /m);
    assert.match(stdout, /^\| 3 \| calls \| .*\n\| 3 \| forEach of 1,000 items \| [\d.]+ \| 20 \| /m);
    assert.match(stdout, /^20 workflows that wait for a person .* add -?[\d.]+ MB/m);
    for (const [what, limit] of [
      ['workflows of 20 steps, 1', '1.3'],
      ['forEach of 1,000 items, 2', '1.2'],
      ['forEach of 1,000 items, 3', '1.2'],
    ])
      assert.match(stdout, new RegExp(`^\\| CPU of a step, ${what} at a time, × a call \\| ≤ ${limit} \\| \\d`, 'm'));
    assert.doesNotMatch(stdout, /NaN/);
  },
);
