import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { CONTROL_PLANE_PROGRAMS, ensurePrograms } from '../cluster/index.ts';

const BENCH = join(import.meta.dirname, '../../bench/operator/run.ts');

// On a fresh machine they are built here, which may take longer than the benchmark itself.
before(() => ensurePrograms(CONTROL_PLANE_PROGRAMS));

test(
  'the benchmark of the operator still runs: it converges, with no write too many',
  { timeout: 300_000 },
  async () => {
    const args = [BENCH, '--servers', '8', '--rest', '0'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    assert.match(
      stdout,
      /^\| writes per VirtualMCPServer, its group and entries included \| ≤ 11 \| 10\.\d+ \| met \|$/m,
    );
    assert.match(stdout, /^\| writes in the next 0 s \| ≤ 0 \| 0 \| met \|$/m);
    assert.doesNotMatch(stdout, /NaN/);
  },
);
