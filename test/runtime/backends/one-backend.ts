import assert from 'node:assert/strict';
import { ListeningUsers } from '../../../runtime/backends/discovery/listening-users.ts';
import { Backend } from '../../../runtime/backends/backend.ts';
import type { BackendEvents, BackendTuning } from '../../../runtime/backends/backend-settings.ts';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { openly } from '../../fixtures/strategies.ts';

const LIMITS = {
  connections: 4,
  controlConnections: 2,
  watches: 1,
  streamConnections: 8,
  maxResponseBytes: 1_000_000,
  requestBytesTogether: 1_000_000,
  responseBytesTogether: 10_000_000,
  uncountedBytes: 1_000,
  connectTimeoutMs: 1_000,
};
export const DEFAULTS = { intervalMs: 30_000, timeoutMs: 10_000, unhealthyThreshold: 3 };
export const TUNING: BackendTuning & { readonly health: typeof DEFAULTS } = {
  idleTimeoutMs: 30_000,
  health: DEFAULTS,
  circuitBreaker: { isEnabled: false, failureThreshold: 5, timeoutMs: 60_000 },
  maxCalls: 512,
};

/** Nobody hears of circuits and refused calls. */
export const unheard: BackendEvents = { circuitChanged: () => {}, callRefused: () => {} };

/** A server, and what the gateway knows of it by itself, as its time is turned. */
export interface OneBackend {
  readonly fixture: FixtureBackend;
  readonly clock: FrozenClock;
  /** Once it is opened. */
  readonly backend: Backend;
  readonly open: (health?: Partial<typeof DEFAULTS>, lists?: ByteBudget) => void;
  /** Resolves with the next change that is told. */
  readonly changed: () => Promise<void>;
  /** Of its tools. */
  readonly names: () => readonly string[];
  /** Waits until the round that is under way has ended, which shows by the timer of the next one. */
  readonly rested: () => Promise<void>;
  /** The next round comes after `ms`, and not before. */
  readonly roundAfter: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const startOneBackend = async (): Promise<OneBackend> => {
  const clock = frozenClock();
  const fixture = await startBackend();
  const changes: (() => void)[] = [];
  let opened: Backend | undefined;
  const backend = (): Backend => opened ?? assert.fail('it is opened first');
  const rested = async (): Promise<void> => {
    const before = clock.now();
    while (backend().state.checkedAt !== before) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    fixture,
    clock,
    get backend() {
      return backend();
    },
    open: (health = {}, lists = new ByteBudget(10_000_000)) => {
      opened = new Backend(
        { name: 'a', url: fixture.url, transport: 'streamable-http', strategy: { type: 'unauthenticated' } },
        { ...TUNING, health: { ...DEFAULTS, ...health } },
        {
          clock,
          random: () => 1,
          clientInfo: { name: 'vmcp', version: '0' },
          limits: LIMITS,
          answers: new ByteBudget(10_000_000),
          lists,
          ...openly,
          events: unheard,
          readFile: () => Promise.reject(new Error('no files')),
          listeningUsers: new ListeningUsers(),
          onChange: () => {
            for (const notify of changes.splice(0)) notify();
          },
        },
      );
      opened.start();
    },
    changed: () => new Promise((resolve) => changes.push(resolve)),
    names: () => (backend().state.lists?.tools ?? []).map(({ key }) => key),
    rested,
    roundAfter: async (ms) => {
      const before = backend().state.checkedAt;
      clock.advance(ms - 1);
      assert.ok(!clock.pending().includes(0));
      assert.equal(backend().state.checkedAt, before);
      assert.ok(clock.pending().includes(1), `nothing is due after ${ms} ms`);
      clock.advance(1);
      await rested();
    },
    close: async () => {
      await opened?.destroy();
      await fixture.close();
    },
  };
};
