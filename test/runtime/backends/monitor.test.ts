import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Backend } from '../../../runtime/backends/backend.ts';
import { Monitor } from '../../../runtime/backends/monitor.ts';
import { ByteBudget } from '../../../runtime/byte-budget.ts';
import {
  answerError,
  answerJson,
  answerStatus,
  count,
  type Exchange,
  type FixtureBackend,
  hang,
  startBackend,
} from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { covers } from '../../requirements.ts';

const LIMITS = {
  connections: 4,
  controlConnections: 2,
  watches: 1,
  streamConnections: 8,
  maxResponseBytes: 1_000_000,
  uncountedBytes: 1_000,
  connectTimeoutMs: 1_000,
};
const DEFAULTS = { intervalMs: 30_000, timeoutMs: 10_000, unhealthyThreshold: 3 };
const TUNING = { silenceMs: 30_000, health: DEFAULTS };
const WITHOUT_LISTS = new ByteBudget(0);

let fixture: FixtureBackend;
let clock: FrozenClock;
let backend: Backend;
let changes: (() => void)[];

const open = (health: Partial<typeof DEFAULTS> = {}, lists = new ByteBudget(10_000_000)): Backend => {
  backend = new Backend(
    { name: 'a', url: fixture.url, transport: 'streamable-http', strategy: { type: 'unauthenticated' } },
    { ...TUNING, health: { ...DEFAULTS, ...health } },
    {
      clock,
      random: () => 1,
      clientInfo: { name: 'vmcp', version: '0' },
      limits: LIMITS,
      answers: new ByteBudget(10_000_000),
      lists,
      readFile: () => Promise.reject(new Error('no files')),
      onChange: () => {
        for (const notify of changes.splice(0)) notify();
      },
    },
  );
  backend.start();
  return backend;
};

beforeEach(async () => {
  clock = frozenClock();
  changes = [];
  fixture = await startBackend();
});
afterEach(async () => {
  await backend.destroy();
  await fixture.close();
});

const changed = (): Promise<void> => new Promise((resolve) => changes.push(resolve));
const names = (): string[] => (backend.state.lists?.tools ?? []).map(({ key }) => key);

/** Waits until the round that is under way has ended, which shows by the timer of the next one. */
const rested = async (): Promise<void> => {
  const before = clock.now();
  while (backend.state.checkedAt !== before) await new Promise((resolve) => setImmediate(resolve));
};

/** The next round comes after `ms`, and not before. */
const roundAfter = async (ms: number): Promise<void> => {
  const before = backend.state.checkedAt;
  clock.advance(ms - 1);
  assert.ok(!clock.pending().includes(0));
  assert.equal(backend.state.checkedAt, before);
  assert.ok(clock.pending().includes(1), `nothing is due after ${ms} ms`);
  clock.advance(1);
  await rested();
};

describe('the list of a backend', () => {
  test('holds every tool of every page, as the backend wrote it', async () => {
    const odd = '{ "name":"odd", "x":1.0, "big":12345678901234567890, "inputSchema":{"type":"object"}, "\\u00e9":[] }';
    fixture.set({ tools: ['a', odd, 'b', 'c', 'd'], pageSize: 2 });
    open();
    await backend.firstListed;
    assert.deepEqual(names(), ['a', 'odd', 'b', 'c', 'd']);
    assert.equal(backend.state.lists?.tools?.[1]?.bytes.toString(), odd);
    assert.equal(count(fixture, 'tools/list'), 3);
    assert.equal(backend.state.status, 'ready');
  });

  test('lacks what clients refuse, and says so until it is mended', async () => {
    fixture.set({ tools: ['a', '{"name":"odd"}', 'b', '{"name":5}'] });
    open();
    await backend.firstListed;
    assert.deepEqual(names(), ['a', 'b']);
    const message = 'left out of its lists, since clients refuse it: tool "odd", for its inputSchema, and 1 more';
    assert.deepEqual([backend.state.status, backend.state.message], ['ready', message]);
    fixture.set({ tools: ['a', 'b'] });
    await roundAfter(30_000);
    await roundAfter(30_000);
    assert.deepEqual([backend.state.status, backend.state.message], ['ready', undefined]);
  });

  test('gives its room back when the backend is no longer served', async () => {
    const lists = new ByteBudget(10_000_000);
    open({}, lists);
    await backend.firstListed;
    assert.ok(lists.taken > 0);
    await backend.retire();
    assert.equal(lists.taken, 0);
  });

  test('of a server without tools is empty', async () => {
    const result = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}';
    fixture.set({
      on: ({ recorded }) => {
        if (recorded.method === 'initialize') return answerJson(result);
        if (recorded.method === 'ping') return answerJson('{}');
        return recorded.method === 'tools/list' ? answerError('{"code":-32601,"message":"no"}') : answerStatus(202);
      },
    });
    open();
    await backend.firstListed;
    assert.equal(backend.state.status, 'ready');
    assert.deepEqual(names(), []);
  });

  const bad: readonly (readonly [string, string])[] = [
    ['cursors run in circles', '{"tools":[{"name":"x"}],"nextCursor":"same"}'],
    ['there is no list', '{"items":[]}'],
    ['it is not JSON inside a string', '{"tools":[{"name":"x","description":"\\q"}]}'],
    ['it holds a raw line feed', `{"tools":[{"name":"x","description":"${'y'.repeat(100)}\n"}]}`],
    ['a tool is named twice', '{"tools":[{"name":"x","n\\u0061me":"other_tool"}]}'],
  ];
  for (const [what, page] of bad) {
    test(`is not to be had when ${what}`, async () => {
      fixture.set({ on: ({ recorded }) => (recorded.method === 'tools/list' ? answerJson(page) : undefined) });
      open({ unhealthyThreshold: 1 });
      await backend.firstListed;
      assert.equal(backend.state.status, 'unavailable');
      assert.equal(backend.state.lists?.tools, undefined);
    });
  }

  test('is not to be had when the lists of all backends leave no room for it', async () => {
    open({ unhealthyThreshold: 1 }, WITHOUT_LISTS);
    await backend.firstListed;
    assert.equal(backend.state.status, 'unavailable');
    assert.match(backend.state.message ?? '', /all backends together/);
  });

  test('is read again after a minute where the backend does not tell of changes', async () => {
    open();
    await backend.firstListed;
    await roundAfter(30_000);
    assert.equal(count(fixture, 'tools/list'), 1);
    fixture.set({ tools: ['new'] });
    await roundAfter(30_000);
    assert.deepEqual(names(), ['new']);
  });

  test('that can no longer be read is served as it was, and the backend degraded', async () => {
    open();
    await backend.firstListed;
    fixture.set({ on: ({ recorded }) => (recorded.method === 'tools/list' ? answerJson('{"items":[]}') : undefined) });
    await roundAfter(30_000);
    await roundAfter(30_000);
    assert.deepEqual([backend.state.status, backend.state.consecutiveFailures], ['degraded', 0]);
    assert.equal(backend.state.message, 'backend "a" gave a list of tools that cannot be used');
    assert.deepEqual(names(), ['echo']);
    fixture.set({});
    await roundAfter(1_000);
    assert.equal(backend.state.status, 'ready');
  });
});

describe('a check', () => {
  for (const [given, intervalMs] of [
    [{}, 30_000],
    [{ intervalMs: 5_000 }, 5_000],
  ] as const) {
    test(`comes every ${intervalMs} ms, and is a ping`, async () => {
      open(given);
      await backend.firstListed;
      const [pings, lists] = [count(fixture, 'ping'), count(fixture, 'tools/list')];
      await roundAfter(intervalMs);
      assert.deepEqual([count(fixture, 'ping'), count(fixture, 'tools/list')], [pings + 1, lists]);
    });
  }

  for (const [given, timeoutMs] of [
    [{}, 10_000],
    [{ timeoutMs: 2_000 }, 2_000],
  ] as const) {
    test(`that hangs has failed after ${timeoutMs} ms`, async () => {
      open(given);
      await backend.firstListed;
      fixture.set({ on: () => hang });
      const before = fixture.requests.length;
      clock.advance(30_000);
      await fixture.received(() => fixture.requests.length > before);
      clock.advance(timeoutMs - 1);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(backend.state.consecutiveFailures, 0);
      clock.advance(1);
      await rested();
      assert.equal(backend.state.consecutiveFailures, 1);
    });
  }

  test('that hangs from the start has failed after healthCheckTimeout as well', async () => {
    fixture.set({ on: () => hang });
    open({ unhealthyThreshold: 1 });
    await fixture.received(({ method }) => method === 'server/discover');
    clock.advance(5_000);
    await fixture.received(({ method }) => method === 'initialize');
    clock.advance(5_000);
    await backend.firstListed;
    assert.equal(backend.state.status, 'unavailable');
    assert.equal(backend.state.message, 'backend "a" did not answer in time');
  });

  covers('health.recovery');
  for (const [given, threshold] of [
    [{}, 3],
    [{ unhealthyThreshold: 2 }, 2],
  ] as const) {
    test(`leaves a backend ready until ${threshold} have failed in a row; one that succeeds makes it ready again`, async () => {
      open(given);
      await backend.firstListed;
      fixture.set({ on: () => answerStatus(503) });
      for (let failures = 1; failures < threshold; failures += 1) {
        await roundAfter(30_000);
        const { status, consecutiveFailures, message } = backend.state;
        assert.deepEqual([status, consecutiveFailures, message], ['ready', failures, undefined]);
      }
      const change = changed();
      await roundAfter(30_000);
      await change;
      assert.deepEqual([backend.state.status, backend.state.consecutiveFailures], ['unavailable', threshold]);
      assert.deepEqual(names(), ['echo']);
      fixture.set({ tools: ['new'] });
      await roundAfter(1_000);
      assert.deepEqual([backend.state.status, backend.state.consecutiveFailures, names()], ['ready', 0, ['new']]);
    });
  }

  covers('health.unhealthy-threshold.consecutive');
  test('that succeeds ends the row of those that failed', async () => {
    open({ unhealthyThreshold: 2 });
    await backend.firstListed;
    for (let round = 1; round <= 6; round += 1) {
      fixture.set(round % 2 === 1 ? { on: () => answerStatus(503) } : {});
      await roundAfter(30_000);
      assert.deepEqual([backend.state.status, backend.state.consecutiveFailures], ['ready', round % 2]);
    }
  });

  test('comes sooner while nobody is served: after 1, 2, 4 … and at last every 30 s', async () => {
    fixture.set({ on: () => answerStatus(503) });
    open();
    await backend.firstListed;
    assert.equal(backend.state.status, 'unknown');
    assert.equal(backend.state.message, 'backend "a" does not answer like an MCP server');
    for (const ms of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) await roundAfter(ms);
    assert.deepEqual([backend.state.status, backend.state.consecutiveFailures], ['unavailable', 8]);
  });

  test('that is asked for credentials says so, whatever the threshold', async () => {
    for (const status of [401, 403]) {
      fixture.set({ on: () => answerStatus(status) });
      open();
      await backend.firstListed;
      assert.deepEqual([backend.state.status, backend.state.consecutiveFailures], ['unauthenticated', 0]);
      await backend.destroy();
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
    open();
    await backend.firstListed;
    fixture.set({ on: asModern });
    await roundAfter(30_000);
    assert.deepEqual([backend.state.status, names()], ['ready', ['m']]);
    const discovered = count(fixture, 'server/discover');
    await roundAfter(30_000);
    assert.equal(count(fixture, 'server/discover'), discovered + 1);
    fixture.set({});
    await roundAfter(30_000);
    assert.deepEqual([backend.state.status, names()], ['ready', ['echo']]);
  });

  test('comes when the new settings say', async () => {
    open();
    await backend.firstListed;
    backend.tune({ ...TUNING, health: { ...DEFAULTS, intervalMs: 60_000 } });
    await roundAfter(60_000);
    backend.tune({ ...TUNING, health: { ...DEFAULTS, intervalMs: 2_000 } });
    await roundAfter(2_000);
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
      catalogue: { isDue: () => false, leftOut: undefined, lists: undefined, read: () => Promise.resolve() },
      settings: () => ({ ...DEFAULTS, unhealthyThreshold: 1 }),
      clock,
      random: () => 1,
      onChange: () => {},
    });
    monitor.start();
    await monitor.firstRound;
    // A fault of ours is named for the log.
    assert.deepEqual([monitor.state.status, monitor.state.detail], ['unavailable', 'RangeError: out of ids']);
    for (const ms of [1_000, 2_000, 4_000]) {
      clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    }
    isUp = true;
    clock.advance(500);
    monitor.noteAnswer();
    monitor.noteAnswer();
    assert.equal(rounds, 4);
    clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([rounds, monitor.state.status], [5, 'ready']);
    monitor.noteAnswer();
    assert.ok(!clock.pending().includes(0));
    monitor.stop();
    open();
  });
});
