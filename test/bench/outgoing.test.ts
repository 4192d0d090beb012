import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** Quartiles, and the shares of calls that failed and that were refused. */
const RANGE = '\\d+\\.\\d\\d–\\d+\\.\\d\\d \\| \\d+ % \\| \\d+ %';
const NONE = '– \\| – \\| –';
const BENCHES = join(import.meta.dirname, '../../bench');

test(
  'the benchmark of credentials for backends still runs: every strategy has its row, every target its figure',
  { timeout: 300_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(BENCHES, 'outgoing', 'run.ts'), '--quick']);
    for (const path of ['byte proxy', 'unauthenticated', 'header_injection', 'token_exchange'])
      assert.equal(stdout.split(`\n| 1 KB call | 50 | ${path} | `).length, 3, path);
    for (const revision of ['2025-11-25', '2026-07-28'])
      assert.match(
        stdout,
        new RegExp(
          `^\\| CPU per warm 1 KB call, 50 clients, ${revision}, token_exchange, × unauthenticated \\| ≤ 1.1 \\| \\d`,
          'm',
        ),
      );
    for (const what of ['1 KB', '100 KB']) assert.match(stdout, new RegExp(`^\\| ${what} \\| \\d+\\.\\d \\|$`, 'm'));
    assert.doesNotMatch(stdout, /NaN/);
  },
);

test(
  'the benchmark of one backend of ten that fails still runs: each way has its rows and its target',
  { timeout: 300_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(BENCHES, 'one-of-ten', 'run.ts'), '--quick']);
    const ways = ['well', 'hangs', 'breaks off', 'answers 503', 'flaps', 'fails under load'];
    for (const way of ways) {
      for (const breaker of ['on', 'off'])
        assert.match(
          stdout,
          new RegExp(
            `^\\| ${breaker} \\| ${way}( \\| \\d+\\.\\d\\d){3} \\| ${way === 'well' ? NONE : RANGE} \\|$`,
            'm',
          ),
        );
      if (way !== 'well') assert.match(stdout, new RegExp(`while the tenth ${way} \\| ≤ 1.1 \\| \\d`));
    }
  },
);
