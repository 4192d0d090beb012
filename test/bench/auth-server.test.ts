import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { noRedis } from '../fixtures/redis.ts';

const BENCH = join(import.meta.dirname, '../../bench/auth-server/run.ts');

test(
  'the benchmark of the authorization server still runs: refreshes and logins have their rows, every target its figure',
  { timeout: 300_000, skip: noRedis },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [BENCH, '--quick']);
    for (const storage of ['the library alone', 'memory', 'Redis'])
      assert.match(stdout, new RegExp(`^\\| token endpoint \\| 5 \\| ${storage} \\| \\d+ \\| \\d+ \\|`, 'm'));
    for (const storage of ['memory', 'Redis'])
      assert.match(stdout, new RegExp(`^\\| 60 users \\| 50 \\| ${storage} \\| \\d+ \\| \\d+\\.\\d\\d \\|`, 'm'));
    assert.match(stdout, /^\| refreshes\/s, 5 clients, Redis \| ≥ 200 \| \d/m);
    assert.match(stdout, /^\| logins\/s, 60 users, Redis \| ≥ 50 \| \d/m);
    assert.doesNotMatch(stdout, /NaN/);
  },
);
