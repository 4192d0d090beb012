import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { CircuitBreaker } from '../../../runtime/backends/discovery/circuit-breaker.ts';
import { Monitor } from '../../../runtime/backends/discovery/monitor.ts';
import type { ListSource } from '../../../runtime/backends/messages/backend-call.ts';
import { answerStatus } from '../../fixtures/backend.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from '../store/has-code.ts';
import { DEFAULTS, type OneBackend, startOneBackend, TUNING } from './one-backend.ts';

let at: OneBackend;

describe('while the circuit of a backend is open', () => {
  /** A check fails, and opens the circuit of a backend whose lists are known. */
  beforeEach(async () => {
    at = await startOneBackend();
    at.open();
    await at.backend.firstListed;
    at.backend.tune({ ...TUNING, circuitBreaker: { isEnabled: true, failureThreshold: 1, timeoutMs: 60_000 } });
    at.fixture.set({ on: () => answerStatus(503) });
    await at.roundAfter(30_000);
    assert.equal(at.backend.circuit?.state, 'open');
  });
  afterEach(() => at.close());

  test('no resource is watched there', async () => {
    const before = at.fixture.requests.length;
    const watching = at.backend.watch('x://r', { kind: 'anonymous' }, { onUpdated: () => {}, onEnd: () => {} });
    await assert.rejects(watching.confirmed, hasCode('circuit_open'));
    watching.stop();
    assert.equal(at.fixture.requests.length, before);
  });

  test('its lists are not read again, and nobody waits for that', async () => {
    const before = at.fixture.requests.length;
    await at.backend.listing.refreshLists();
    assert.deepEqual([at.fixture.requests.length, at.names()], [before, ['echo']]);
  });

  test('no check is made although the settings of checks change, and one as soon as the breaker is turned off', async () => {
    const before = at.fixture.requests.length;
    const circuitBreaker = { isEnabled: true, failureThreshold: 1, timeoutMs: 60_000 };
    at.backend.tune({ ...TUNING, circuitBreaker, health: { ...TUNING.health, intervalMs: 1_000 } });
    at.clock.advance(59_000);
    assert.equal(at.fixture.requests.length, before);
    at.fixture.set({});
    at.backend.tune(TUNING);
    await at.rested();
    assert.ok(at.fixture.requests.length > before);
    assert.deepEqual([at.backend.circuit, at.backend.state.consecutiveFailures], [undefined, 0]);
  });

  test('it can be retired', async () => {
    await at.backend.retire();
    at.clock.advance(60_000);
    assert.deepEqual(
      at.clock.pending().filter((ms) => ms > 0 && ms <= 60_000),
      [],
    );
  });
});

test('a check that is under way when a trial is due decides nothing, and is followed by the trial', async () => {
  const clock = frozenClock();
  const checks: PromiseWithResolvers<ListSource>[] = [];
  const circuit: CircuitBreaker = new CircuitBreaker({
    backend: 'a',
    clock,
    settings: { isEnabled: true, failureThreshold: 1, timeoutMs: 1_000 },
    onChange: () => {},
    onHeld: () => monitor.hold(),
    onReleased: () => monitor.release(),
    onDoubted: () => {},
  });
  const monitor = new Monitor({
    backend: 'a',
    check: () => {
      const check = Promise.withResolvers<ListSource>();
      checks.push(check);
      return check.promise;
    },
    listDiscovery: { isDue: () => false, leftOut: undefined, lists: undefined, read: () => Promise.resolve() },
    settings: () => DEFAULTS,
    circuit,
    clock,
    random: () => 1,
    onChange: () => {},
  });
  const answer = async (nth: number): Promise<void> => {
    checks[nth]?.resolve({ request: () => assert.fail('not asked'), opened: undefined });
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(0);
  };
  monitor.start();
  circuit.callFailed(circuit.beginCall());
  clock.advance(1_000);
  assert.deepEqual([circuit.circuit?.state, checks.length], ['open', 1]);
  await answer(0);
  assert.deepEqual([circuit.circuit?.state, checks.length], ['half-open', 2]);
  await answer(1);
  assert.deepEqual([circuit.circuit?.state, checks.length], ['closed', 2]);
  monitor.stop();
});
