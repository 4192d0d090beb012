import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { answerStatus, type FixtureBackend, hang, startBackend } from '../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

let up: FixtureBackend;
let down: FixtureBackend;
let running: Running | undefined;
let clock: FrozenClock;

beforeEach(async () => {
  clock = frozenClock();
  [up, down] = await Promise.all([startBackend(), startBackend()]);
});
afterEach(async () => {
  await Promise.all([up.close(), down.close()]);
  const stopped = running?.stop();
  clock.advance(60_000);
  await stopped;
});

const begin = async (partialFailureMode?: string, more: object = {}) => {
  const failureHandling = partialFailureMode === undefined ? {} : { partialFailureMode };
  running = await startRuntime(
    configFile({ up: up.url, down: down.url }, { operational: { failureHandling, ...more } }),
    {},
    { clock },
  );
  return openSession(running.url);
};

describe('with one backend down', () => {
  covers('health.partial-failure.fail');
  for (const mode of ['fail', undefined]) {
    test(`mode ${mode ?? 'by default'} fails every list while a backend that was listed is unavailable`, async () => {
      const session = await begin(mode);
      const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
      const codes = async (): Promise<unknown> => {
        const answers = await Promise.all(lists.map((method) => session.request(method)));
        return answers.map(({ json }) => (json as { error?: { code: number } }).error?.code);
      };
      assert.deepEqual(await session.toolNames(), ['down_echo', 'up_echo']);
      down.set({ on: () => answerStatus(500) });
      for (let failures = 1; failures <= 3; failures += 1) {
        // What was listed last is good enough until it is marked unavailable.
        assert.deepEqual(await session.toolNames(), ['down_echo', 'up_echo']);
        clock.advance(30_000);
        await until(
          'the check',
          async () => running?.status().backends[0]?.consecutiveFailures === failures || undefined,
        );
      }
      assert.equal(running?.status().backends[0]?.status, 'unavailable');
      assert.deepEqual(await codes(), [503, 503, 503, 503]);
      down.set({});
      clock.advance(1_000);
      await until('recovery', async () => running?.status().backends[0]?.status === 'ready' || undefined);
      assert.deepEqual(await session.toolNames(), ['down_echo', 'up_echo']);
    });
  }

  covers('health.partial-failure.fail', 'health.per-backend');
  for (const mode of ['fail', undefined]) {
    test(`mode ${mode ?? 'by default'} fails the list and names the backend`, async () => {
      down.set({ on: () => answerStatus(500) });
      const session = await begin(mode);
      const { status, json } = await session.request('tools/list');
      assert.equal(status, 200);
      const { error } = json as { error: { code: number; message: string; data: { reason: string } } };
      assert.deepEqual([error.code, error.data.reason], [503, 'backend_unavailable']);
      assert.match(error.message, /"down"/);
      assert.doesNotMatch(error.message, /"up"/);
      const states = running?.status().backends.map(({ name, status }) => [name, status]);
      assert.deepEqual(states, [
        ['down', 'unknown'],
        ['up', 'ready'],
      ]);
    });
  }

  test('mode fail concerns lists only: calls of the others go on', async () => {
    down.set({ on: () => answerStatus(500) });
    const session = await begin('fail');
    await session.request('tools/list');
    const { json } = await session.call('up_echo');
    assert.ok((json as { result: { content: unknown } }).result.content);
  });

  covers('health.partial-failure.best-effort');
  test('mode best_effort lists the rest', async () => {
    down.set({ on: () => answerStatus(500) });
    const session = await begin('best_effort');
    assert.deepEqual(await session.toolNames(), ['up_echo']);
  });

  test('a backend that only wants a login is not down: its tools are left out', async () => {
    down.set({ on: () => answerStatus(401) });
    const session = await begin('fail');
    assert.deepEqual(await session.toolNames(), ['up_echo']);
    assert.equal(running?.status().backends.find(({ name }) => name === 'down')?.status, 'unauthenticated');
  });

  covers('health.recovery');
  test('its tools, once known, are answered for although they are not listed, and it comes back by itself', async () => {
    const session = await begin('best_effort');
    assert.deepEqual(await session.toolNames(), ['down_echo', 'up_echo']);
    down.set({ on: () => answerStatus(500) });
    for (let failures = 1; failures <= 3; failures += 1) {
      assert.deepEqual(await session.toolNames(), ['down_echo', 'up_echo']);
      clock.advance(30_000);
      while (running?.status().backends[0]?.consecutiveFailures !== failures)
        await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(running?.status().backends[0]?.status, 'unavailable');
    assert.deepEqual(await session.toolNames(), ['up_echo']);
    const { json } = await session.call('down_echo');
    assert.equal(
      (json as { result: { _meta: Record<string, { reason: string }> } }).result._meta['vmcp.dev/error']?.reason,
      'backend_unavailable',
    );
    down.set({});
    clock.advance(1_000);
    while (running?.status().backends[0]?.status !== 'ready') await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await session.toolNames(), ['down_echo', 'up_echo']);
    assert.match((await session.call('down_echo')).text, /echo \{\}/);
  });
});

describe('with one backend withheld', () => {
  const message = 'Secret "token" has no key "key"';
  const withheld = { name: 'backends.yaml', text: JSON.stringify({ withheld: [{ name: 'gone', message }] }) };
  const serve = async (partialFailureMode: string) => {
    const failureHandling = { partialFailureMode };
    const main = configFile({ up: up.url }, { operational: { failureHandling } });
    running = await startRuntime([...main, withheld], {}, { clock });
    return openSession(running.url);
  };

  test('mode fail fails the list and names it; the status says why', async () => {
    const session = await serve('fail');
    const { error } = (await session.request('tools/list')).json as { error: { code: number; message: string } };
    assert.equal(error.code, 503);
    assert.match(error.message, /"gone"/);
    const reports = running?.status().backends.map(({ name, status, message }) => ({ name, status, message }));
    assert.deepEqual(reports, [
      { name: 'gone', status: 'unavailable', message },
      { name: 'up', status: 'ready', message: undefined },
    ]);
  });

  test('mode best_effort lists the rest; a call of its names is told that it is not served', async () => {
    const session = await serve('best_effort');
    assert.deepEqual(await session.toolNames(), ['up_echo']);
    const { result } = (await session.call('gone_tool')).json as {
      result: { isError: boolean; _meta: Record<string, { reason: string }> };
    };
    assert.deepEqual([result.isError, result._meta['vmcp.dev/error']?.reason], [true, 'backend_unavailable']);
    const { error } = (await session.call('else_tool')).json as { error: { data: { reason: string } } };
    assert.equal(error.data.reason, 'unknown_name');
  });

  test('it is served once that is mended', async () => {
    const session = await serve('fail');
    running?.reload(configFile({ up: up.url, gone: down.url }));
    assert.deepEqual(await session.toolNames(), ['gone_echo', 'up_echo']);
  });
});

describe('at start', () => {
  test('a list waits for backends that have not answered yet, up to healthCheckTimeout', async () => {
    down.set({ on: () => hang });
    const session = await begin('best_effort');
    await down.received(({ method }) => method === 'server/discover');
    let isOver = false;
    const list = session.toolNames().finally(() => (isOver = true));
    while (running?.status().backends[1]?.status !== 'ready') await new Promise((resolve) => setImmediate(resolve));
    clock.advance(9_999);
    await session.request('ping');
    assert.equal(isOver, false);
    clock.advance(1);
    assert.deepEqual(await list, ['up_echo']);
  });

  test('a call of a name that is not known yet waits too, also for the check after one that failed', async () => {
    let release = (): void => {};
    down.set({
      on: ({ recorded }) => {
        if (recorded.method !== 'initialize') return undefined;
        return (exchange) => {
          release = () => {
            down.set({});
            answerStatus(503)(exchange);
          };
        };
      },
    });
    const session = await begin('best_effort');
    await down.received(({ method }) => method === 'initialize');
    const call = session.call('down_echo');
    await session.request('ping');
    release();
    await until('the failed check', async () => {
      const seen = running?.status().backends.find(({ name }) => name === 'down');
      return seen?.consecutiveFailures === 1 ? true : undefined;
    });
    clock.advance(1_000);
    assert.match((await call).text, /"content"/);
  });
});

describe('timeouts', () => {
  covers('limits.timeout.custom', 'limits.timeout.per-workload', 'limits.timeout.per-workload-others');
  test('perWorkload bounds its own backend, timeouts.default the others', async () => {
    const session = await begin('best_effort', { timeouts: { default: '5s', perWorkload: { down: '2s' } } });
    await session.toolNames();
    for (const backend of [up, down])
      backend.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const isOver = { up: false, down: false };
    const calls = {
      up: session.call('up_echo').finally(() => (isOver.up = true)),
      down: session.call('down_echo').finally(() => (isOver.down = true)),
    };
    await Promise.all([up, down].map((backend) => backend.received(({ method }) => method === 'tools/call')));
    clock.advance(1_999);
    await session.request('ping');
    assert.deepEqual(isOver, { up: false, down: false });
    clock.advance(1);
    const { json } = await calls.down;
    assert.equal(
      (json as { result: { _meta: Record<string, { reason: string }> } }).result._meta['vmcp.dev/error']?.reason,
      'backend_timeout',
    );
    clock.advance(2_999);
    await session.request('ping');
    assert.equal(isOver.up, false);
    clock.advance(1);
    await calls.up;
  });
});
