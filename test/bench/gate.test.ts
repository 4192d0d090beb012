import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { noRedis } from '../fixtures/redis.ts';

const BENCH = join(import.meta.dirname, '../../bench/gate/run.ts');

test(
  'the benchmark of the gate still runs: every step has its row, every target its figure',
  { skip: noRedis, timeout: 300_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [BENCH, '--quick']);
    for (const step of [
      'byte proxy',
      'bare',
      '+ JWT',
      '+ policies',
      '+ limits',
      '+ audit (everything)',
      'everything, traces at 100 %',
      'everything, limits in Redis',
    ]) {
      assert.ok(stdout.includes(`\n| 1 KB call | 50 | ${step} | `), step);
    }
    for (const revision of ['2025-11-25', '2026-07-28'])
      assert.match(
        stdout,
        new RegExp(`^\\| CPU per 1 KB call, 50 clients, ${revision}, everything, × bare \\| ≤ 1.15 \\| \\d`, 'm'),
      );
    assert.match(stdout, /^\| µs of a Cedar decision for a caller never seen \| ≤ 40 \| \d/m);
    assert.match(stdout, /^\| 100 live tokens, \+ audit \(everything\), MB \| -?\d/m);
    assert.doesNotMatch(stdout, /NaN/);
  },
);
