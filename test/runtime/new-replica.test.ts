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

test('a name is unknown once its backend is given up for now', async () => {
  await failed(1);
  const session = await openSession(running.url);
  const answers: string[] = [];
  const call = session.call('a_echo').then(({ text }) => answers.push(text));
  clock.advance(1_000);
  await failed(2);
  assert.deepEqual(answers, []);
  clock.advance(2_000);
  await call;
  assert.match(answers.join(''), /unknown_name/);
});
