import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { errorOf } from '../../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { type RuntimeProcesses, runtimeProcesses } from '../../fixtures/runtime-process.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { covers } from '../../requirements.ts';

const LIMIT = 100;
/** Calls that are under way at a time, at each replica. */
const AT_A_TIME = 8;

type Outcome = 'admitted' | 'refused' | 'lost';

describe('a limit that two processes share, of which one is killed', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let processes: RuntimeProcesses;

  before(async () => {
    redis = await startRedis();
    backend = await startBackend();
    // Nothing returns while the test runs.
    const [file] = configFile(
      { a: backend.url },
      {
        sessionStorage: { provider: 'kvstore', address: redis.address },
        rateLimiting: { shared: { maxTokens: LIMIT, refillPeriod: '4320h' } },
      },
    );
    processes = await runtimeProcesses(file?.text ?? '');
  });
  after(async () => {
    await processes.close();
    await Promise.all([redis.stop(), backend.close()]);
  });

  const call = (url: string): Promise<Outcome> =>
    sendModern(url, {}).then(
      (answer) => (errorOf(answer)?.code === 429 ? 'refused' : 'admitted'),
      () => 'lost',
    );
  /** Calls again and again, until a call is refused or lost. */
  const callOn = async (url: string, outcomes: Outcome[]): Promise<void> => {
    for (;;) {
      const outcome = await call(url);
      outcomes.push(outcome);
      if (outcome !== 'admitted') return;
    }
  };
  const tokensSpent = async (): Promise<number> =>
    Number((await redis.command('GET', await redis.command('KEYS', 'vmcp:limits:*'))).split(' ')[0]);

  covers('ratelimit.distributed');
  test('admits as many calls as it says, and none is counted twice or for free', { timeout: 120_000 }, async () => {
    const [one, two] = await Promise.all([processes.start(), processes.start()]);
    const outcomes: Outcome[] = [];
    const callers = [one, two].flatMap(({ url }) => Array.from({ length: AT_A_TIME }, () => callOn(url, outcomes)));
    await until('calls', async () => (outcomes.length >= LIMIT / 4 ? true : undefined), { intervalMs: 1 });
    await one.kill();
    await Promise.all(callers);
    const three = await processes.start();
    await callOn(three.url, outcomes);

    const of = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
    assert.equal(await tokensSpent(), LIMIT);
    assert.ok(of('lost') <= AT_A_TIME);
    // A lost call has taken its token or not, and has reached the backend or not.
    assert.ok(of('admitted') <= LIMIT && of('admitted') + of('lost') >= LIMIT, JSON.stringify(of('admitted')));
    assert.ok(count(backend, 'tools/call') >= of('admitted') && count(backend, 'tools/call') <= LIMIT);
    assert.equal(await call(three.url), 'refused');
    assert.equal(await call(two.url), 'refused');
  });
});
