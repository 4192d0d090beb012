import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { errorOf } from '../../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { limitedGate, named } from '../../fixtures/gates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import type { RawAnswer } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { startReplica } from '../../fixtures/replicas.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { covers } from '../../requirements.ts';

const DAY_MS = 24 * 3_600_000;
const LIMIT = 20;

const times = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at));
const isAdmitted = (answer: RawAnswer): boolean => answer.status === 200 && errorOf(answer) === undefined;

describe('rate limits in Redis', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  const replicas: Running[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    backend = await startBackend({ tools: ['echo', 'other'] });
  });
  afterEach(async () => {
    await Promise.all(replicas.splice(0).map((each) => each.stop()));
    await Promise.all([backend.close(), redis.stop()]);
  });

  const replica = async (more: object, features?: Parameters<typeof startReplica>[2]): Promise<Running> => {
    const sessionStorage = { provider: 'kvstore', address: redis.address, keyPrefix: 'own:' };
    const running = await startReplica(configFile({ a: backend.url }, { sessionStorage, ...more }), {}, features);
    replicas.push(running);
    // Its tools are known then.
    assert.equal((await sendModern(running.url, { method: 'tools/list', name: '' })).status, 200);
    return running;
  };
  /** All limits last for the whole test. */
  const limited = (more: object = {}) => ({
    rateLimiting: { shared: { maxTokens: LIMIT, refillPeriod: '24h' } },
    ...more,
  });
  const admitted = async (calls: readonly Promise<RawAnswer>[]): Promise<number> =>
    (await Promise.all(calls)).filter(isAdmitted).length;
  const nowMs = async (): Promise<number> => {
    const [seconds, micros] = (await redis.command('TIME')).split('\n').map(Number);
    return (seconds ?? Number.NaN) * 1_000 + (micros ?? Number.NaN) / 1_000;
  };

  covers('ratelimit.distributed');
  test('are counted together by all replicas, and a replica that comes later joins in', async () => {
    const [one, two] = await Promise.all([replica(limited()), replica(limited())]);
    const calls = times(4 * LIMIT, (at) => sendModern((at % 2 === 0 ? one : two).url, {}));
    assert.equal(await admitted(calls), LIMIT);
    assert.equal(count(backend, 'tools/call'), LIMIT);
    const three = await replica(limited());
    assert.equal(await admitted(times(3, () => sendModern(three.url, {}))), 0);
    assert.match(await redis.command('KEYS', 'own:limits:*'), /^own:limits:\{[\w-]{16}\}:shared$/);
  });

  test('of a user hold at all replicas, and those of other users are untouched', async () => {
    const features = (deps: Parameters<typeof limitedGate>[0]) => ({
      gate: limitedGate(deps, { perUser: { capacity: 3, refillPeriodMs: DAY_MS } }),
    });
    const [one, two] = await Promise.all([replica({}, { features }), replica({}, { features })]);
    for (const user of ['ann', 'bob']) {
      const calls = times(10, (at) => sendModern((at % 2 === 0 ? one : two).url, { headers: named(user) }));
      assert.equal(await admitted(calls), 3);
    }
  });

  test('tell the time when the next token is there, by the clock of Redis: never early, at most 1 ms late', async () => {
    const { url } = await replica({ rateLimiting: { shared: { maxTokens: 3, refillPeriod: '10s' } } });
    const refused = async (): Promise<RawAnswer> => {
      const answer = await sendModern(url, {});
      return isAdmitted(answer) ? refused() : answer;
    };
    await refused();
    const [before, answer, after] = [await nowMs(), await refused(), await nowMs()];
    const [key = ''] = (await redis.command('KEYS', 'own:limits:*')).split('\n');
    const [spent, atUs] = (await redis.command('GET', key)).split(' ').map(Number);
    const dueMs = (atUs ?? Number.NaN) / 1_000 + (((spent ?? Number.NaN) + 1 - 3) * 10_000) / 3;
    const toldMs = Number(errorOf(answer).data['retryAfterSeconds']) * 1_000;
    assert.ok(before + toldMs <= dueMs + 1.002, `told ${toldMs}, due ${dueMs - before} after the question`);
    assert.ok(after + toldMs >= dueMs, `told ${toldMs}, due ${dueMs - after} after the answer`);
    await until('the time told', async () => ((await nowMs()) >= after + toldMs ? true : undefined), {
      timeoutMs: 20_000,
      intervalMs: 5,
    });
    assert.ok(isAdmitted(await sendModern(url, {})));
  });

  describe('while Redis is away', () => {
    const settings = (whenStoreUnavailable: string) =>
      limited({ extensions: { rateLimiting: { whenStoreUnavailable } } });

    test('are counted by each replica alone, unless the configuration says otherwise', async () => {
      const [one, two] = await Promise.all([replica(limited()), replica(limited())]);
      await redis.kill();
      for (const { url } of [one, two])
        assert.equal(await admitted(times(2 * LIMIT, () => sendModern(url, {}))), LIMIT);
      assert.deepEqual(await scraped(one, 'vmcp_rate_limit_outage'), [
        `vmcp_rate_limit_outage_decisions_total{vmcp_rate_limit_when_store_unavailable="local"} ${2 * LIMIT}`,
      ]);
      assert.deepEqual(await scraped(one, 'vmcp_rate_limit_buckets'), ['vmcp_rate_limit_buckets 1']);
    });

    test('refuse everything that is limited, under deny', async () => {
      const { url } = await replica({
        ...settings('deny'),
        rateLimiting: { tools: [{ name: 'a_echo', shared: { maxTokens: LIMIT, refillPeriod: '24h' } }] },
      });
      assert.ok(isAdmitted(await sendModern(url, {})));
      await redis.kill();
      const refused = await sendModern(url, {});
      assert.equal(errorOf(refused).data.reason, 'store_unavailable');
      assert.ok(isAdmitted(await sendModern(url, { name: 'a_other' })));
    });

    test('refuse nothing, under allow, and count again when Redis is back', async () => {
      const { url } = await replica(settings('allow'));
      await redis.kill();
      assert.equal(await admitted(times(2 * LIMIT, () => sendModern(url, {}))), 2 * LIMIT);
      await redis.start();
      await until('a refusal', async () => (isAdmitted(await sendModern(url, {})) ? undefined : true), {
        timeoutMs: 20_000,
        intervalMs: 5,
      });
      assert.match(await redis.command('KEYS', 'own:limits:*'), /:shared$/);
    });
  });
});
