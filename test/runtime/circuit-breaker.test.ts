import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { reasonOf, resultText } from '../fixtures/answers.ts';
import { answerJson, answerStatus, count, hang } from '../fixtures/backend.ts';
import { answersAll, circuitOf, failsAll, reportOf, untilCircuit, withBreaker } from '../fixtures/circuits.ts';
import { explained, stepOf } from '../fixtures/explained.ts';
import { type Gateway, onCall, startGateway, stopGateway } from '../fixtures/gateway.ts';
import { sendModern } from '../fixtures/modern-caller.ts';
import { configFile } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

const REFUSED = 'backend "a" keeps failing and is not called for a while';

let at: Gateway;
const begin = async (circuitBreaker: object = {}, more: object = {}): Promise<void> => {
  at = await startGateway(withBreaker(circuitBreaker, more));
};
afterEach(() => stopGateway(at));

const failCalls = async (times: number): Promise<void> => {
  onCall(at.backend, () => answerStatus(503));
  for (let n = 0; n < times; n += 1) assert.equal(reasonOf(await at.session.call('a_echo')), 'backend_unavailable');
};
/** Whatever was sent before has had the time to arrive. */
const settled = async (): Promise<void> => void (await fetch(`${at.running.managementUrl}/healthz`)).status;

describe('without a circuit breaker', () => {
  covers(
    'health.circuit-optional',
    'health.circuit.enabled-default-false',
    'circuit.disabled-never-opens',
    'status.discovered.circuit-state-disabled',
    'status.discovered.circuit-last-changed-disabled',
  );
  for (const circuitBreaker of [undefined, {}, { enabled: false, failureThreshold: 1 }]) {
    test(`circuitBreaker ${JSON.stringify(circuitBreaker)}: every call and check goes out, however many fail, and no circuit is told`, async () => {
      at = await startGateway({ operational: { failureHandling: { circuitBreaker, healthCheckInterval: '10s' } } });
      await failCalls(20);
      assert.equal(count(at.backend, 'tools/call'), 20);
      failsAll(at.backend);
      for (let checks = 1; checks <= 8; checks += 1) {
        at.clock.advance(10_000);
        while (reportOf(at.running).consecutiveFailures < checks) await settled();
      }
      assert.deepEqual(
        Object.keys(reportOf(at.running)).filter((key) => key.startsWith('circuit')),
        [],
      );
    });
  }
});

describe('a circuit breaker', () => {
  covers(
    'health.circuit.enabled-true',
    'health.circuit.failure-threshold-default',
    'health.circuit.failure-threshold-custom',
    'circuit.open-on-threshold',
    'circuit.below-threshold-closed',
    'circuit.last-changed-on-open',
    'status.discovered.circuit-last-changed',
    'status.discovered.circuit-last-changed-never',
  );
  for (const [given, threshold] of [
    [{}, 5],
    [{ failureThreshold: 2 }, 2],
    [{ failureThreshold: 1 }, 1],
  ] as const) {
    test(`${JSON.stringify(given)}: opens with failed call ${threshold} in a row, and tells since when`, async () => {
      await begin(given);
      await failCalls(threshold - 1);
      assert.equal(circuitOf(at.running), 'closed');
      assert.equal('circuitLastChanged' in reportOf(at.running), false);
      at.clock.advance(1_234);
      await failCalls(1);
      const { circuitBreakerState, circuitLastChanged } = reportOf(at.running);
      assert.equal(circuitBreakerState, 'open');
      assert.equal(circuitLastChanged, new Date(at.clock.now()).toISOString());
      const before = at.backend.requests.length;
      const refused = await at.session.call('a_echo');
      assert.deepEqual([reasonOf(refused), resultText(refused)], ['circuit_open', REFUSED]);
      assert.equal(at.backend.requests.length, before);
    });
  }

  test('counts checks, too', async () => {
    await begin({ failureThreshold: 3 }, { healthCheckInterval: '10s', unhealthyThreshold: 5 });
    failsAll(at.backend);
    for (const failures of [1, 2, 3]) {
      assert.equal(circuitOf(at.running), 'closed');
      at.clock.advance(10_000);
      while (reportOf(at.running).consecutiveFailures < failures) await settled();
    }
    assert.equal(circuitOf(at.running), 'open');
  });

  test('counts anew after a call that succeeded', async () => {
    await begin({ failureThreshold: 2 });
    for (let n = 0; n < 3; n += 1) {
      await failCalls(1);
      at.backend.set({});
      assert.equal(resultText(await at.session.call('a_echo')), 'echo {}');
    }
    assert.equal(circuitOf(at.running), 'closed');
  });

  covers(
    'health.circuit.timeout-default',
    'health.circuit.timeout-custom',
    'circuit.open-before-timeout',
    'circuit.half-open',
    'circuit.half-open-success',
  );
  for (const [given, timeoutMs] of [
    [{}, 60_000],
    [{ timeout: '7s' }, 7_000],
  ] as const) {
    test(`${JSON.stringify(given)}: nothing is sent for ${timeoutMs} ms, then one check while calls are refused, and its success closes it`, async () => {
      await begin(given, { healthCheckInterval: '1s' });
      await failCalls(5);
      let answer: (() => void) | undefined;
      at.backend.set({ on: (exchange) => () => (answer = () => answerJson('{}')(exchange)) });
      const before = at.backend.requests.length;
      at.clock.advance(timeoutMs - 1);
      await settled();
      assert.deepEqual([circuitOf(at.running), at.backend.requests.length], ['open', before]);
      at.clock.advance(1);
      await at.backend.received(() => at.backend.requests.length > before);
      assert.equal(circuitOf(at.running), 'half-open');
      assert.equal(reasonOf(await at.session.call('a_echo')), 'circuit_open');
      assert.deepEqual(
        at.backend.requests.slice(before).map(({ method }) => method),
        ['ping'],
      );
      at.backend.set({});
      answer?.();
      await untilCircuit(at.running, 'closed');
      assert.equal(reportOf(at.running).circuitLastChanged, new Date(at.clock.now()).toISOString());
      assert.equal(resultText(await at.session.call('a_echo')), 'echo {}');
    });
  }

  test('opens again for the whole time when the check fails; the tools go only once the backend is unavailable', async () => {
    await begin({ failureThreshold: 2, timeout: '5s' }, { unhealthyThreshold: 2 });
    await failCalls(2);
    failsAll(at.backend);
    assert.deepEqual([reportOf(at.running).status, await at.session.toolNames()], ['ready', ['a_echo']]);
    for (const [failures, names] of [
      [1, ['a_echo']],
      [2, []],
    ] as const) {
      const before = at.backend.requests.length;
      at.clock.advance(4_999);
      await settled();
      assert.equal(at.backend.requests.length, before);
      at.clock.advance(1);
      while (reportOf(at.running).consecutiveFailures < failures) await settled();
      assert.equal(circuitOf(at.running), 'open');
      assert.equal(reportOf(at.running).circuitLastChanged, new Date(at.clock.now()).toISOString());
      assert.deepEqual(await at.session.toolNames(), names);
    }
    at.backend.set({});
    at.clock.advance(5_000);
    await untilCircuit(at.running, 'closed');
    while (reportOf(at.running).status !== 'ready') await settled();
    assert.deepEqual(await at.session.toolNames(), ['a_echo']);
  });

  test('that is changed while the server runs takes effect at once, and other changes leave its state', async () => {
    await begin({ failureThreshold: 2 });
    await failCalls(2);
    const reload = (circuitBreaker: object, more: object = {}): void => {
      const files = configFile({ a: at.backend.url }, { ...withBreaker(circuitBreaker), ...more });
      assert.equal(at.running.reload(files).ok, true);
    };
    const openedAt = reportOf(at.running).circuitLastChanged;
    reload({ failureThreshold: 2 }, { name: 'renamed', aggregation: { conflictResolution: 'priority' } });
    reload({ failureThreshold: 9 });
    assert.deepEqual([circuitOf(at.running), reportOf(at.running).circuitLastChanged], ['open', openedAt]);
    const before = at.backend.requests.length;
    reload({ failureThreshold: 2, timeout: '1s' });
    at.clock.advance(1_000);
    await at.backend.received(() => at.backend.requests.length > before);
    await untilCircuit(at.running, 'closed');
    await failCalls(2);
    assert.equal(circuitOf(at.running), 'open');
    at.backend.set({});
    reload({ enabled: false });
    assert.equal('circuitBreakerState' in reportOf(at.running), false);
    assert.equal(resultText(await at.session.call('a_echo')), 'echo {}');
    await failCalls(3);
    reload({ failureThreshold: 1 });
    assert.equal(circuitOf(at.running), 'closed');
    assert.equal('circuitLastChanged' in reportOf(at.running), false);
  });

  test('of a backend that gets another address begins anew', async () => {
    await begin({ failureThreshold: 1 });
    await failCalls(1);
    at.running.reload(configFile({ a: at.backend.url.replace('127.0.0.1', 'localhost') }, withBreaker()));
    assert.equal(circuitOf(at.running), 'closed');
  });
});

describe('an open circuit', () => {
  beforeEach(async () => {
    await begin({ failureThreshold: 1 });
    await failCalls(1);
  });

  test('is told to clients of 2026-07-28 in their form', async () => {
    const { result } = (await sendModern(at.running.url, { name: 'a_echo' })).json as {
      result: { isError: boolean; _meta: Record<string, { reason: string }> };
    };
    assert.deepEqual([result.isError, result._meta['vmcp.dev/error']?.reason], [true, 'circuit_open']);
  });

  test('is explained', async () => {
    const explanation = await explained(at.running, { name: 'a_echo' });
    const { outcome, reason, ...more } = stepOf(explanation, 'backend');
    assert.equal(explanation.allowed, false);
    assert.deepEqual([outcome, more['code'], more['circuit']], ['refused', 'circuit_open', 'open']);
    assert.match(reason, /circuit of backend "a" is open/);
  });

  test('shows in the metrics, with the calls that it refuses', async () => {
    await at.session.call('a_echo');
    await at.session.call('a_echo');
    const text = await (await fetch(`${at.running.managementUrl}/metrics`)).text();
    const shown = text.split('\n').filter((line) => line.startsWith('vmcp_backend_c'));
    assert.deepEqual(shown.toSorted(), [
      'vmcp_backend_calls_active{vmcp_backend_name="a"} 0',
      'vmcp_backend_calls_refused_total{vmcp_backend_name="a",error_type="circuit_open"} 2',
      'vmcp_backend_circuit_changes_total{vmcp_backend_name="a",vmcp_circuit_state="open"} 1',
      'vmcp_backend_circuit_state{vmcp_backend_name="a",vmcp_circuit_state="open"} 1',
    ]);
  });

  test('is not touched by names that nobody knows, for which lists are read anew otherwise', async () => {
    const before = at.backend.requests.length;
    at.clock.advance(20_000);
    await at.session.call('a_made_up');
    await settled();
    assert.equal(at.backend.requests.length, before);
  });

  test('lets one check through at its end, however many calls come meanwhile', async () => {
    answersAll(at.backend, hang);
    const before = at.backend.requests.length;
    at.clock.advance(60_000);
    await at.backend.received(() => at.backend.requests.length > before);
    const answers = await Promise.all(Array.from({ length: 20 }, () => at.session.call('a_echo')));
    assert.deepEqual(new Set(answers.map(reasonOf)), new Set(['circuit_open']));
    assert.equal(at.backend.requests.length, before + 1);
  });
});
