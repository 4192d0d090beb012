import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { until } from '../cluster/until.ts';
import type { Running } from '../../runtime/start.ts';
import { answerStatus, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

/** A pod of a rollout: clients call by names that they know from the pods before it. */
let backend: FixtureBackend;
let running: Running;
let clock: FrozenClock;

beforeEach(async () => {
  clock = frozenClock();
  backend = await startBackend();
  backend.set({ on: () => answerStatus(503) });
  running = await startRuntime(configFile({ a: backend.url }), {}, { clock });
  await backend.received(() => true);
});
afterEach(async () => {
  await running.stop();
  await backend.close();
});

const failed = (times: number): Promise<true> =>
  until(`${times} failed checks`, async () => {
    const [seen] = running.status().backends;
    return (seen?.consecutiveFailures ?? 0) >= times ? true : undefined;
  });

test('a call by a name that no backend has listed yet waits for the check that succeeds', async () => {
  await failed(1);
  const session = await openSession(running.url);
  const call = session.call('a_echo');
  backend.set({ on: () => undefined });
  clock.advance(1_000);
  assert.match((await call).text, /"content"/);
});

test('a call by a name of a backend that is given up for now waits for one more check, and can be tried again', async () => {
  await failed(1);
  const session = await openSession(running.url);
  const answers: string[] = [];
  const call = session.call('a_echo').then(({ text }) => answers.push(text));
  clock.advance(1_000);
  await failed(2);
  assert.deepEqual(answers, []);
  clock.advance(2_000);
  await failed(3);
  assert.equal(running.status().backends[0]?.status, 'unavailable');
  assert.deepEqual(answers, []);
  clock.advance(1_000);
  await call;
  assert.match(answers.join(''), /backend_unavailable/);
});

test('a call by a name of a backend that is given up for now is answered once the backend is there', async () => {
  await failed(1);
  for (const [ms, times] of [
    [1_000, 2],
    [2_000, 3],
  ] as const) {
    clock.advance(ms);
    await failed(times);
  }
  const session = await openSession(running.url);
  backend.set({ on: () => undefined });
  let answer: string | undefined;
  void session.call('a_echo').then(({ text }) => (answer = text));
  await until('the answer', async () => {
    clock.advance(100);
    return answer;
  });
  assert.match(answer ?? '', /"content"/);
});
