import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Monitor } from '../../../../runtime/backends/discovery/monitor.ts';
import { answerJson, answerStatus, count, type Exchange, hang } from '../../../fixtures/backend.ts';
import { covers } from '../../../requirements.ts';
import { DEFAULTS, type OneBackend, startOneBackend, TUNING } from '../one-backend.ts';

let at: OneBackend;
beforeEach(async () => {
  at = await startOneBackend();
});
afterEach(() => at.close());

describe('a check', () => {
  for (const [given, intervalMs] of [
    [{}, 30_000],
    [{ intervalMs: 5_000 }, 5_000],
  ] as const) {
    test(`comes every ${intervalMs} ms, and is a ping`, async () => {
      at.open(given);
      await at.backend.firstListed;
      const [pings, lists] = [count(at.fixture, 'ping'), count(at.fixture, 'tools/list')];
      await at.roundAfter(intervalMs);
      assert.deepEqual([count(at.fixture, 'ping'), count(at.fixture, 'tools/list')], [pings + 1, lists]);
    });
  }

  for (const [given, timeoutMs] of [
    [{}, 10_000],
    [{ timeoutMs: 2_000 }, 2_000],
  ] as const) {
    test(`that hangs has failed after ${timeoutMs} ms`, async () => {
      at.open(given);
      await at.backend.firstListed;
      at.fixture.set({ on: () => hang });
      const before = at.fixture.requests.length;
      at.clock.advance(30_000);
      await at.fixture.received(() => at.fixture.requests.length > before);
      at.clock.advance(timeoutMs - 1);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(at.backend.state.consecutiveFailures, 0);
      at.clock.advance(1);
      await at.rested();
      assert.equal(at.backend.state.consecutiveFailures, 1);
    });
  }

  test('that hangs from the start has failed after healthCheckTimeout as well', async () => {
    at.fixture.set({ on: () => hang });
    at.open({ unhealthyThreshold: 1 });
    await at.fixture.received(({ method }) => method === 'server/discover');
    at.clock.advance(5_000);
    await at.fixture.received(({ method }) => method === 'initialize');
    at.clock.advance(5_000);
    await at.backend.firstListed;
    assert.equal(at.backend.state.status, 'unavailable');
    assert.equal(at.backend.state.message, 'backend "a" did not answer in time');
  });

  covers('health.recovery');
  for (const [given, threshold] of [
    [{}, 3],
    [{ unhealthyThreshold: 2 }, 2],
  ] as const) {
    test(`leaves a backend ready until ${threshold} have failed in a row; one that succeeds makes it ready again`, async () => {
      at.open(given);
      await at.backend.firstListed;
      at.fixture.set({ on: () => answerStatus(503) });
      for (let failures = 1; failures < threshold; failures += 1) {
        await at.roundAfter(30_000);
        const { status, consecutiveFailures, message } = at.backend.state;
        assert.deepEqual([status, consecutiveFailures, message], ['ready', failures, undefined]);
      }
      const change = at.changed();
      await at.roundAfter(30_000);
      await change;
      assert.deepEqual([at.backend.state.status, at.backend.state.consecutiveFailures], ['unavailable', threshold]);
      assert.deepEqual(at.names(), ['echo']);
      at.fixture.set({ tools: ['new'] });
      await at.roundAfter(1_000);
      assert.deepEqual(
        [at.backend.state.status, at.backend.state.consecutiveFailures, at.names()],
        ['ready', 0, ['new']],
      );
    });
  }

  covers('health.unhealthy-threshold.consecutive');
  test('that succeeds ends the row of those that failed', async () => {
    at.open({ unhealthyThreshold: 2 });
    await at.backend.firstListed;
    for (let round = 1; round <= 6; round += 1) {
      at.fixture.set(round % 2 === 1 ? { on: () => answerStatus(503) } : {});
      await at.roundAfter(30_000);
      assert.deepEqual([at.backend.state.status, at.backend.state.consecutiveFailures], ['ready', round % 2]);
    }
  });

  test('comes sooner while nobody is served: after 1, 2, 4 … and at last every 30 s', async () => {
    at.fixture.set({ on: () => answerStatus(503) });
    at.open();
    await at.backend.firstListed;
    assert.equal(at.backend.state.status, 'unknown');
    assert.equal(at.backend.state.message, 'backend "a" does not answer like an MCP server');
    for (const ms of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) await at.roundAfter(ms);
    assert.deepEqual([at.backend.state.status, at.backend.state.consecutiveFailures], ['unavailable', 8]);
  });

  test('comes a second after the last one when a name of a backend that was never listed is looked up', async () => {
    at.fixture.set({ on: () => answerStatus(503) });
    at.open();
    await at.backend.firstListed;
    for (const ms of [1_000, 2_000]) await at.roundAfter(ms);
    assert.equal(at.backend.state.status, 'unavailable');
    at.fixture.set({});
    const lookUps = [at.backend.listing.checkUnlisted(), at.backend.listing.checkUnlisted()];
    await at.roundAfter(1_000);
    await Promise.all(lookUps);
    assert.deepEqual([at.backend.state.status, at.names()], ['ready', ['echo']]);
    const before = at.fixture.requests.length;
    await at.backend.listing.checkUnlisted();
    assert.equal(at.fixture.requests.length, before);
  });

  test('that is asked for credentials says so, whatever the threshold', async () => {
    for (const status of [401, 403]) {
      at.fixture.set({ on: () => answerStatus(status) });
      at.open();
      await at.backend.firstListed;
      assert.deepEqual([at.backend.state.status, at.backend.state.consecutiveFailures], ['unauthenticated', 0]);
      await at.backend.destroy();
    }
  });

  test('finds out that the backend has become one of 2026-07-28, and that it no longer is', async () => {
    const modern = '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"x"}}';
    const asModern = ({ recorded }: Exchange) => {
      if (recorded.method === 'server/discover') return answerJson(modern);
      return recorded.method === 'tools/list'
        ? answerJson('{"tools":[{"name":"m","inputSchema":{"type":"object"}}]}')
        : answerStatus(400);
    };
    at.open();
    await at.backend.firstListed;
    at.fixture.set({ on: asModern });
    await at.roundAfter(30_000);
    assert.deepEqual([at.backend.state.status, at.names()], ['ready', ['m']]);
    const discovered = count(at.fixture, 'server/discover');
    await at.roundAfter(30_000);
    assert.equal(count(at.fixture, 'server/discover'), discovered + 1);
    at.fixture.set({});
    await at.roundAfter(30_000);
    assert.deepEqual([at.backend.state.status, at.names()], ['ready', ['echo']]);
  });

  test('comes when the new settings say', async () => {
    at.open();
    await at.backend.firstListed;
    at.backend.tune({ ...TUNING, health: { ...DEFAULTS, intervalMs: 60_000 } });
    await at.roundAfter(60_000);
    at.backend.tune({ ...TUNING, health: { ...DEFAULTS, intervalMs: 2_000 } });
    await at.roundAfter(2_000);
  });

  test('comes at once, and a second after the last one at the earliest, when a backend that was down answers a call', async () => {
    let rounds = 0;
    let isUp = false;
    const monitor = new Monitor({
      backend: 'a',
      check: () => {
        rounds += 1;
        if (!isUp) throw new RangeError('out of ids');
        return Promise.resolve({ request: () => Promise.reject(new Error('not asked')), opened: undefined });
      },
      listDiscovery: { isDue: () => false, leftOut: undefined, lists: undefined, read: () => Promise.resolve() },
      settings: () => ({ ...DEFAULTS, unhealthyThreshold: 1 }),
      circuit: { isHeld: false, isTrialDue: false, beginCheck: () => 0, checkEnded: () => {} },
      clock: at.clock,
      random: () => 1,
      onChange: () => {},
    });
    monitor.start();
    await monitor.firstRound;
    // A fault of ours is named for the log.
    assert.deepEqual([monitor.state.status, monitor.state.detail], ['unavailable', 'RangeError: out of ids']);
    for (const ms of [1_000, 2_000, 4_000]) {
      at.clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    }
    isUp = true;
    at.clock.advance(500);
    monitor.noteAnswer();
    monitor.noteAnswer();
    assert.equal(rounds, 4);
    at.clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([rounds, monitor.state.status], [5, 'ready']);
    monitor.noteAnswer();
    assert.ok(!at.clock.pending().includes(0));
    monitor.stop();
  });
});
