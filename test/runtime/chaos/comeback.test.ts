import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { answerStatus, startBackend } from '../../fixtures/backend.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { startMortal } from './mortal.ts';
import { outcomeOf } from './scene.ts';

const BEST_EFFORT = {
  operational: {
    failureHandling: { partialFailureMode: 'best_effort', healthCheckInterval: '1s', unhealthyThreshold: 1 },
  },
};
const UNREACHABLE = { text: 'backend "mortal" cannot be reached', reason: 'backend_unavailable' };

const begin = async (t: TestContext) => {
  const port = await freePortPair();
  const url = `http://127.0.0.1:${port}/mcp`;
  const good = await startBackend();
  const first = await startMortal(port, 'hang');
  const running = await startRuntime(configFile({ mortal: url, good: good.url }, BEST_EFFORT));
  t.after(async () => {
    await first.kill();
    await good.close();
    await running.stop();
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['good_echo', 'mortal_echo']);
  return { port, first, running, session };
};

test('a backend killed in the middle of a call fails that call, which is not repeated, and is used again once it is back', async (t) => {
  const { port, first, session } = await begin(t);
  const answer = session.call('mortal_echo');
  await first.called();
  await first.kill();
  assert.deepEqual(outcomeOf(await answer), UNREACHABLE);
  assert.deepEqual(outcomeOf(await session.call('good_echo')), { text: 'echo {}' });
  const second = await startMortal(port, 'answer');
  t.after(second.kill);
  assert.deepEqual(outcomeOf(await session.call('mortal_echo')), { text: 'echo {}' });
  await until(() => second.executions() > 0, 2_000);
  // Only the newer call: that of before may have been executed.
  assert.deepEqual([first.executions(), second.executions()], [1, 1]);
});

test('a backend that is back is listed again within 2 s', { timeout: 20_000 }, async (t) => {
  const { port, first, running, session } = await begin(t);
  await first.kill();
  assert.deepEqual(outcomeOf(await session.call('mortal_echo')), UNREACHABLE);
  const status = (): string | undefined => running.status().backends.find(({ name }) => name === 'mortal')?.status;
  await until(() => status() === 'unavailable', 5_000);
  const second = await startMortal(port, 'answer');
  t.after(second.kill);
  await until(() => status() === 'ready', 2_500);
  assert.deepEqual(await session.toolNames(), ['good_echo', 'mortal_echo']);
});

const until = async (isSo: () => boolean, ms: number): Promise<void> => {
  const end = Date.now() + ms;
  while (!isSo()) {
    assert.ok(Date.now() < end, 'has not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

test('a backend that speaks no TLS where TLS is expected is unavailable, and the others are served', async (t) => {
  const [plain, good] = await Promise.all([startBackend(), startBackend()]);
  const files = configFile({ plain: plain.url.replace('http:', 'https:'), good: good.url }, BEST_EFFORT);
  const running = await startRuntime(files);
  t.after(async () => {
    await Promise.all([plain.close(), good.close()]);
    await running.stop();
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['good_echo']);
  const { status, message } = running.status().backends.find(({ name }) => name === 'plain') ?? {};
  assert.deepEqual([status, message], ['unavailable', 'backend "plain" cannot be reached']);
  assert.equal(plain.requests.length, 0);
});

test('a backend that redirects to itself without end is asked four times for each attempt', async (t) => {
  const clock = frozenClock();
  const [loop, good] = await Promise.all([
    startBackend({ on: () => answerStatus(307, '', { location: '/mcp' }) }),
    startBackend(),
  ]);
  const running = await startRuntime(configFile({ loop: loop.url, good: good.url }, BEST_EFFORT), {}, { clock });
  t.after(async () => {
    const stopped = running.stop();
    await Promise.all([loop.close(), good.close()]);
    clock.advance(60_000);
    await stopped;
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['good_echo']);
  assert.equal(loop.requests.filter(({ method }) => method === 'initialize').length, 4);
});
