import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const BENCH = join(import.meta.dirname, '../../bench/run.ts');
const run = promisify(execFile);

test(
  'the benchmarks still run: every scenario has its row, every target its figure',
  { timeout: 300_000 },
  async () => {
    const { stdout } = await run(process.execPath, [BENCH, '--quick']);
    for (const what of [
      '1 KB call',
      '100 KB call',
      '100 KB both ways',
      'list of 200 tools',
      'page of 1,000 of 2,000 tools',
    ]) {
      assert.match(stdout, new RegExp(`^\\| ${what} \\| \\d+ \\| vmcp \\| \\d`, 'm'));
    }
    assert.match(stdout, /^\| 1 KB call, 2026-07-28 \| 50 \| vmcp \| \d/m);
    assert.match(stdout, /^\| backend requests per session of one call \| ≤ 4 \| 4\.00 \| met \|$/m);
    assert.match(stdout, /^\| 1 KB call \| 50 \| vmcp from source \| \d/m);
    assert.match(stdout, /^\| peak RSS in MB, 50 clients, 100 KB \|/m);
    for (const clients of [50, 200])
      assert.match(stdout, new RegExp(`^\\| peak RSS in MB, ${clients} clients, 100 KB both ways \\| `, 'm'));
    assert.doesNotMatch(stdout, /NaN/);
  },
);
