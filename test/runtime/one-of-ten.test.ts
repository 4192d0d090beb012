import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { errorOf, reasonOf, resultText } from '../fixtures/answers.ts';
import {
  answerJson,
  answerStatus,
  type Behaviour,
  count,
  type FixtureBackend,
  hang,
  startBackend,
  textResult,
} from '../fixtures/backend.ts';
import { breaksOff, jsonHead } from '../fixtures/chaos-backend.ts';
import { circuitOf, failsAll, untilCircuit, withBreaker } from '../fixtures/circuits.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { onCall } from '../fixtures/gateway.ts';
import { openSession, type RawAnswer, type RawSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { until } from '../cluster/until.ts';

const OTHERS = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
const MAX_CALLS = 16;
const CALLS_OF_A_SESSION = 20;

let clock: FrozenClock;
let bad: FixtureBackend;
let others: ReadonlyMap<string, FixtureBackend>;
let running: Running;
/** Its calls go to the nine. */
let session: RawSession;

beforeEach(async () => {
  clock = frozenClock();
  bad = await startBackend();
  others = new Map(await Promise.all(OTHERS.map(async (name) => [name, await startBackend()] as const)));
  const urls = Object.fromEntries([['a', bad.url], ...[...others].map(([name, { url }]) => [name, url])]) as Record<
    string,
    string
  >;
  running = await startRuntime(
    configFile(urls, { ...withBreaker(), extensions: { callsPerBackend: MAX_CALLS } }),
    {},
    { clock },
  );
  session = await openSession(running.url);
  assert.equal((await session.toolNames()).length, 10);
});
afterEach(async () => {
  clock.advance(60_000);
  const stopped = running.stop();
  await Promise.all([bad, ...others.values()].map((backend) => backend.close()));
  clock.advance(60_000);
  await stopped;
});

/** Calls of the bad backend at one time, of as many clients as it takes. */
const flood = async (calls: number): Promise<Promise<RawAnswer>[]> => {
  const clients = await Promise.all(
    Array.from({ length: Math.ceil(calls / CALLS_OF_A_SESSION) }, () => openSession(running.url)),
  );
  return Array.from({ length: calls }, (_, n) => clients[n % clients.length]?.call('a_echo') ?? assert.fail());
};

/** Each of the nine is called some times at once, and each call is answered by its backend, which saw it once. */
const ninesServe = async (): Promise<void> => {
  const before = OTHERS.map((name) => calledAt(name));
  const answers = await Promise.all(
    OTHERS.flatMap((name) => [1, 2, 3].map((n) => session.call(`${name}_echo`, { n }))),
  );
  assert.deepEqual(
    answers.map(resultText),
    OTHERS.flatMap(() => [1, 2, 3].map((n) => `echo {"n":${n}}`)),
  );
  assert.deepEqual(
    OTHERS.map((name) => calledAt(name)),
    before.map((times) => times + 3),
  );
  assert.deepEqual(new Set(OTHERS.map((name) => circuitOf(running, name))), new Set(['closed']));
};
const calledAt = (name: string): number => count(others.get(name) ?? assert.fail(name), 'tools/call');
const now = (): string => new Date(clock.now()).toISOString();
/** When the circuit of the bad one has last changed. */
const openedAt = (): string | undefined => running.status().backends[0]?.circuitLastChanged;
const callsAtBad = (): number => count(bad, 'tools/call');
const reached = (calls: number): Promise<true> =>
  until(`${calls} calls`, async () => callsAtBad() >= calls || undefined, { timeoutMs: 10_000, intervalMs: 1 });

const heals = async (): Promise<void> => {
  bad.set({});
  clock.advance(60_000);
  await untilCircuit(running, 'closed');
  assert.equal(resultText(await session.call('a_echo')), 'echo {}');
};

describe('of ten backends, nine go on', () => {
  test('while one is silent: it has its bound of calls, more are refused by its name, and time-outs open its circuit', async () => {
    onCall(bad, () => hang);
    const calls = await flood(60);
    const refused: RawAnswer[] = [];
    for (const call of calls) void call.then((answer) => refused.push(answer));
    await reached(MAX_CALLS);
    await until('refusals', async () => refused.length === calls.length - MAX_CALLS || undefined, { intervalMs: 1 });
    for (const answer of refused) {
      const { code, message, data } = errorOf(answer);
      assert.deepEqual([code, data.reason], [429, 'busy']);
      assert.equal(message, 'backend "a" has too many calls under way; try again');
    }
    assert.equal(callsAtBad(), MAX_CALLS);
    await ninesServe();
    assert.equal(circuitOf(running), 'closed');
    clock.advance(30_000);
    const answers = await Promise.all(calls);
    assert.equal(answers.filter((answer) => !refused.slice(0, 44).includes(answer)).map(reasonOf).length, MAX_CALLS);
    assert.equal(circuitOf(running), 'open');
    assert.equal(reasonOf(await session.call('a_echo')), 'circuit_open');
    assert.equal(callsAtBad(), MAX_CALLS);
    await ninesServe();
    await heals();
  });

  test('while one is dead: five calls find out, and no more until it is back', async () => {
    const { port } = bad;
    await bad.close();
    const reasons: string[] = [];
    for (let n = 0; n < 12; n += 1) reasons.push(reasonOf(await session.call('a_echo')));
    assert.deepEqual(reasons, [...Array(5).fill('backend_unavailable'), ...Array(7).fill('circuit_open')]);
    await ninesServe();
    bad = await startBackend({ port });
    await heals();
    await ninesServe();
  });

  test('while one breaks every answer off in the middle', async () => {
    onCall(bad, () => breaksOff(jsonHead(900), '{"jsonrpc"'));
    const reasons = new Set((await Promise.all(await flood(40))).map(reasonOrBusy));
    assert.ok([...reasons].every((reason) => ['backend_unavailable', 'circuit_open', 'busy'].includes(reason)));
    assert.equal(circuitOf(running), 'open');
    await ninesServe();
    await heals();
  });

  test('while one flaps: every other call fails, and its circuit stays closed', async () => {
    let calls = 0;
    onCall(bad, () => ((calls += 1) % 2 === 0 ? answerStatus(503) : undefined));
    for (let n = 0; n < 20; n += 1) {
      const answer = await session.call('a_echo');
      if (n % 2 === 0) assert.equal(resultText(answer), 'echo {}');
      else assert.equal(reasonOf(answer), 'backend_unavailable');
    }
    assert.equal(circuitOf(running), 'closed');
    await ninesServe();
  });

  test('while one goes up and down: each time it is down its circuit opens, each time it is up it closes', async () => {
    for (let times = 0; times < 3; times += 1) {
      failsAll(bad);
      for (let n = 0; n < 5; n += 1) await session.call('a_echo');
      assert.equal(circuitOf(running), 'open');
      clock.advance(60_000);
      await until('the trial', async () => (circuitOf(running) === 'open' && openedAt() === now()) || undefined, {
        intervalMs: 1,
      });
      assert.equal(circuitOf(running), 'open');
      await ninesServe();
      await heals();
    }
  });

  test('while one fails under load: load ends with its circuit, so it recovers', async () => {
    let underWay = 0;
    let isOverloaded = false;
    const strained: Behaviour = (exchange) => {
      underWay += 1;
      isOverloaded ||= underWay > 4;
      setImmediate(() => {
        underWay -= 1;
        (isOverloaded ? answerStatus(503) : answerJson(textResult('fine')))(exchange);
      });
    };
    onCall(bad, () => strained);
    for (let round = 0; circuitOf(running) === 'closed' && round < 50; round += 1) await Promise.all(await flood(20));
    assert.equal(circuitOf(running), 'open');
    const before = callsAtBad();
    await Promise.all(await flood(40));
    assert.equal(callsAtBad(), before);
    await ninesServe();
    isOverloaded = false;
    clock.advance(60_000);
    await untilCircuit(running, 'closed');
    assert.equal(resultText(await session.call('a_echo')), 'fine');
  });
});

const reasonOrBusy = (answer: RawAnswer): string =>
  (answer.json as { readonly error?: object }).error ? (errorOf(answer).data.reason ?? '') : reasonOf(answer);
