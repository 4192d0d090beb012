import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { comparisonOf } from '../../bench/comparison.ts';
import { EARLIER, keyOf, type Path, type Sample, type Scenario } from '../../bench/paths.ts';
import type { Sessions } from '../../bench/sessions.ts';

const sample = (callsPerSecond: number, cpuMicros: number): Sample => ({
  callsPerSecond,
  cpuMicros,
  backendPerCall: 1,
  p50: 1,
  p99: 2,
});

const paths: readonly Path[] = ['vmcp', EARLIER].map((name) => ({ name, url: '', prefix: '' }));
const scenario: Scenario = { name: '1 KB call', clients: 50, kind: 'echo', era: 'legacy', paths };

const compared = (now: Sample, idleKb = 10): string => {
  const sessions: Sessions = {
    lives: { perSecond: 100, backendRequests: 4 },
    idleKb,
    warmKb: 20,
    memory: { peakMb: 100, quarterMb: 90, endMb: 95, calls: 1_000 },
    peaks: [{ clients: 50, mostMb: 200, peakMb: 150 }],
  };
  const samples = new Map([now, sample(1_000, 50)].map((each, at) => [keyOf(scenario, paths[at] as Path), [each]]));
  return comparisonOf({ scenarios: [scenario], samples, sessions, before: { ...sessions, idleKb: 10 } });
};

test('a comparison names what is worse by more than 3 %, and no more', () => {
  const same = compared(sample(975, 51));
  assert.match(same, /^\| 1 KB call, 50 clients \| 0\.975 \| 1\.020 \| 1\.000 \| 1\.000 \|$/m);
  assert.match(same, /^No row is worse by more than 3 %\.$/m);
  const worse = compared(sample(960, 55), 11);
  assert.match(worse, /^\* 1 KB call, 50 clients: calls per second × 0\.960, CPU each × 1\.100$/m);
  assert.match(worse, /^\* KB per idle session: this build ÷ the earlier one × 1\.100$/m);
  assert.match(compared(sample(2_000, 20), 5), /^No row is worse/m);
});

test('a comparison is never published', async () => {
  const bench = join(import.meta.dirname, '../../bench/run.ts');
  await assert.rejects(
    promisify(execFile)(process.execPath, [bench, '--write', '--against', 'earlier.mjs']),
    /a comparison is not published/,
  );
});
