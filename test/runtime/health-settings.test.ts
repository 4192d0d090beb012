import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import type { BackendReport } from '../../runtime/status/report.ts';
import { until } from '../cluster/until.ts';
import { answerStatus, count, type FixtureBackend, hang, startBackend } from '../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

let fixture: FixtureBackend;
let running: Running;
let clock: FrozenClock;

const begin = async (failureHandling: object): Promise<void> => {
  const files = configFile({ a: fixture.url }, { operational: { failureHandling } });
  running = await startRuntime(files, {}, { clock, random: () => 1 });
  await untilSeen(({ status }) => status === 'ready');
};

const seen = (): BackendReport | undefined => running.status().backends[0];
const untilSeen = (isSeen: (report: BackendReport) => boolean): Promise<true> =>
  until('the report', async () => (seen() && isSeen(seen() as BackendReport) ? true : undefined), {
    timeoutMs: 5_000,
    intervalMs: 1,
  });

/** Whatever was sent before has had the time to arrive. */
const settled = async (): Promise<void> => void (await fetch(`${running.managementUrl}/healthz`)).status;

beforeEach(async () => {
  clock = frozenClock();
  fixture = await startBackend();
});
afterEach(async () => {
  const stopped = running.stop();
  clock.advance(60_000);
  await fixture.close();
  await stopped;
});

describe('with the configuration alone', () => {
  covers('health.interval.default', 'health.interval.custom', 'status.discovered.last-health-check');
  for (const [given, intervalMs] of [
    [{}, 30_000],
    [{ healthCheckInterval: '20s' }, 20_000],
  ] as const) {
    test(`${JSON.stringify(given)}: a backend is checked every ${intervalMs} ms`, async () => {
      await begin(given);
      const before = count(fixture, 'ping');
      for (const nth of [1, 2]) {
        const checkedAt = clock.now();
        clock.advance(intervalMs - 1);
        await settled();
        assert.equal(count(fixture, 'ping'), before + nth - 1);
        clock.advance(1);
        await untilSeen(({ lastHealthCheck = '' }) => Date.parse(lastHealthCheck) === checkedAt + intervalMs);
        assert.equal(count(fixture, 'ping'), before + nth);
      }
    });
  }

  covers('health.timeout.default', 'health.timeout.custom');
  for (const [given, timeoutMs] of [
    [{}, 10_000],
    [{ healthCheckTimeout: '2s' }, 2_000],
    [{ healthCheckTimeout: '25s' }, 25_000],
  ] as const) {
    test(`${JSON.stringify(given)}: a check that hangs has failed after ${timeoutMs} ms`, async () => {
      await begin(given);
      fixture.set({ on: () => hang });
      const before = fixture.requests.length;
      clock.advance(30_000);
      await fixture.received(() => fixture.requests.length > before);
      clock.advance(timeoutMs - 1);
      await settled();
      assert.equal(seen()?.consecutiveFailures, 0);
      clock.advance(1);
      await untilSeen(({ consecutiveFailures }) => consecutiveFailures === 1);
    });
  }

  covers(
    'health.unhealthy-threshold.default',
    'health.unhealthy-threshold.custom',
    'status.discovered.consecutive-failures',
    'status.discovered.consecutive-failures-reset',
  );
  for (const [given, threshold] of [
    [{}, 3],
    [{ unhealthyThreshold: 2 }, 2],
    [{ unhealthyThreshold: 4 }, 4],
  ] as const) {
    test(`${JSON.stringify(given)}: a backend is unhealthy after ${threshold} failed checks`, async () => {
      await begin(given);
      fixture.set({ on: () => answerStatus(503) });
      for (let failures = 1; failures <= threshold; failures += 1) {
        clock.advance(30_000);
        await untilSeen(({ consecutiveFailures }) => consecutiveFailures === failures);
        assert.equal(seen()?.status, failures < threshold ? 'ready' : 'unavailable');
      }
      fixture.set({});
      clock.advance(1_000);
      await untilSeen(({ consecutiveFailures }) => consecutiveFailures === 0);
      assert.equal(seen()?.status, 'ready');
    });
  }
});
