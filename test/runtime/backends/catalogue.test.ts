import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ByteBudget } from '../../../runtime/byte-budget.ts';
import { Catalogue } from '../../../runtime/backends/catalogue.ts';
import { openConnection } from '../../../runtime/backends/connection.ts';
import { BackendSession } from '../../../runtime/backends/session.ts';
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

const LIMITS = {
  connections: 4,
  controlConnections: 2,
  streamConnections: 8,
  maxResponseBytes: 1_000_000,
  uncountedBytes: 1_000,
  connectTimeoutMs: 1_000,
};

let backend: FixtureBackend;
let clock: FrozenClock;
let catalogue: Catalogue;
let changes: (() => void)[];
let hasRoom: boolean;
let destroy: () => Promise<void>;

beforeEach(async () => {
  clock = frozenClock();
  changes = [];
  hasRoom = true;
  backend = await startBackend();
  const connection = openConnection(new URL(backend.url).origin, LIMITS, {
    clock,
    answers: new ByteBudget(10_000_000),
  });
  destroy = connection.destroy;
  const session = new BackendSession(
    {
      backend: 'a',
      url: backend.url,
      clientInfo: { name: 'vmcp', version: '0' },
      random: () => 1,
      hearsOfLists: true,
      onListChanged: () => catalogue.noteChange(),
    },
    clock,
  );
  catalogue = new Catalogue(
    'a',
    {
      link: async () => session,
      doubt: () => {},
      fetch: connection.fetch,
      silenceMs: () => 30_000,
      hold: () => hasRoom,
    },
    {
      clock,
      random: () => 1,
      onChange: () => {
        for (const notify of changes.splice(0)) notify();
      },
    },
  );
});
afterEach(async () => {
  catalogue.stop();
  await destroy();
  await backend.close();
});

const changed = (): Promise<void> => new Promise((resolve) => changes.push(resolve));
const names = (): string[] => (catalogue.state.lists?.tools ?? []).map(({ key }) => key);

/** Waits for the attempt that is under way, which shows by the timer of the next one. */
const attempted = async (failures: number): Promise<void> => {
  while (catalogue.state.consecutiveFailures < failures || !clock.pending().some((ms) => ms > 500)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('a catalogue', () => {
  test('holds every tool of every page, as the backend wrote it', async () => {
    const odd = '{ "name":"odd", "x":1.0, "big":12345678901234567890, "\\u00e9":[] }';
    backend.set({ tools: ['a', odd, 'b', 'c', 'd'], pageSize: 2 });
    catalogue.start();
    await catalogue.firstListed;
    assert.deepEqual(names(), ['a', 'odd', 'b', 'c', 'd']);
    assert.equal(catalogue.state.lists?.tools?.[1]?.bytes.toString(), odd);
    assert.equal(count(backend, 'tools/list'), 3);
    assert.equal(catalogue.state.status, 'ready');
  });

  test('of a server without tools is empty', async () => {
    const result = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}';
    backend.set({
      on: ({ recorded }) => {
        if (recorded.method === 'initialize') return answerJson(result);
        if (recorded.method === 'ping') return answerJson('{}');
        return recorded.method === 'tools/list' ? answerError('{"code":-32601,"message":"no"}') : answerStatus(202);
      },
    });
    catalogue.start();
    await catalogue.firstListed;
    assert.equal(catalogue.state.status, 'ready');
    assert.deepEqual(names(), []);
  });

  test('of a server without tools that dies is no longer ready', async () => {
    const result = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}';
    const on = (isAlive: boolean) => ({
      on: ({ recorded }: Exchange) => {
        if (!isAlive) return answerStatus(503);
        if (recorded.method === 'initialize') return answerJson(result);
        if (recorded.method === 'ping') return answerJson('{}');
        return recorded.method === 'tools/list' ? answerStatus(400) : answerStatus(202);
      },
    });
    backend.set(on(true));
    catalogue.start();
    await catalogue.firstListed;
    assert.equal(catalogue.state.status, 'ready');
    backend.set(on(false));
    const change = changed();
    clock.advance(30_000);
    await change;
    assert.equal(catalogue.state.status, 'unavailable');
  });

  test('that fails by a fault of ours names it for the log', async () => {
    const broken = new Catalogue(
      'a',
      {
        link: () => Promise.reject(new RangeError('out of ids')),
        doubt: () => {},
        fetch: () => Promise.reject(new Error('not asked')),
        silenceMs: () => 1,
        hold: () => true,
      },
      { clock, random: () => 1, onChange: () => {} },
    );
    broken.start();
    await broken.firstListed;
    assert.deepEqual([broken.state.status, broken.state.detail], ['unavailable', 'RangeError: out of ids']);
    broken.stop();
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
      backend.set({ on: ({ recorded }) => (recorded.method === 'tools/list' ? answerJson(page) : undefined) });
      catalogue.start();
      await catalogue.firstListed;
      assert.equal(catalogue.state.status, 'unavailable');
      assert.equal(catalogue.state.lists?.tools, undefined);
    });
  }

  test('is not to be had when the lists of all backends leave no room for it', async () => {
    hasRoom = false;
    catalogue.start();
    await catalogue.firstListed;
    assert.equal(catalogue.state.status, 'unavailable');
    assert.match(catalogue.state.message ?? '', /all backends together/);
  });

  test('keeps the last good list while its backend is away, and heals by itself', async () => {
    catalogue.start();
    await catalogue.firstListed;
    backend.set({ on: () => answerStatus(503) });
    let change = changed();
    clock.advance(30_000);
    await change;
    assert.equal(catalogue.state.status, 'unavailable');
    assert.deepEqual(names(), ['echo']);
    backend.set({ tools: ['new'] });
    change = changed();
    clock.advance(1_000);
    await change;
    assert.deepEqual([catalogue.state.status, names()], ['ready', ['new']]);
  });

  test('is asked for anew after 1, 2, 4 … and at last every 30 s while it cannot be had', async () => {
    backend.set({ on: () => answerStatus(503) });
    catalogue.start();
    await catalogue.firstListed;
    const delays: number[] = [];
    for (let failures = 1; failures <= 7; failures += 1) {
      await attempted(failures);
      const [delay = 0] = clock.pending();
      delays.push(delay);
      clock.advance(delay);
    }
    assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test('of a backend that wants credentials says so', async () => {
    for (const status of [401, 403]) {
      backend.set({ on: () => answerStatus(status) });
      catalogue.start();
      await attempted(1);
      assert.equal(catalogue.state.status, 'unauthenticated');
    }
  });

  test('gives up on a backend that never answers', async () => {
    backend.set({ on: () => hang });
    catalogue.start();
    await backend.received(({ method }) => method === 'initialize');
    clock.advance(30_000);
    await catalogue.firstListed;
    assert.equal(catalogue.state.status, 'unavailable');
    assert.equal(catalogue.state.message, 'backend "a" did not answer in time');
  });

  test('is asked for when calls contradict the status: once for a burst, a second after the last time', async () => {
    catalogue.start();
    await catalogue.firstListed;
    backend.set({ on: () => answerStatus(503) });
    const change = changed();
    catalogue.noteCall(false);
    catalogue.noteCall(false);
    assert.equal(count(backend, 'tools/list'), 1);
    clock.advance(1_000);
    catalogue.noteCall(false);
    await change;
    assert.equal(count(backend, 'tools/list'), 2);
    assert.equal(catalogue.state.status, 'unavailable');
  });
});
