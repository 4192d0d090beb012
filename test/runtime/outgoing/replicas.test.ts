import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { type Clock, systemClock } from '../../../runtime/process/index.ts';
import { resultText } from '../../fixtures/answers.ts';
import { answerStatus, type Exchange, startBackend } from '../../fixtures/backend.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { openShared, startReplica } from '../../fixtures/replicas.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { exchangedIn, startTokenEndpoint } from '../../fixtures/token-endpoint.ts';

const USERS = Array.from({ length: 10 }, (_, index) => `user-${index}`);
const BACKENDS = ['a', 'b', 'c', 'd', 'e'];
const REPLICAS = [0, 1] as const;
const CALLS = 1_000;
/** As many as are under way at a time. */
const AT_ONCE = 20;

/** Who calls what, at which replica and in which era; each combination as often as any other. */
interface Turn {
  readonly user: string;
  readonly backend: string;
  readonly replica: (typeof REPLICAS)[number];
  readonly isModern: boolean;
}
const COMBINATIONS: readonly Turn[] = USERS.flatMap((user) =>
  BACKENDS.flatMap((backend) =>
    REPLICAS.flatMap((replica) => [true, false].map((isModern) => ({ user, backend, replica, isModern }))),
  ),
);
/** A step that has no divisor in common with their number mixes them. */
const STEP = 77;
const turnOf = (call: number): Turn => COMBINATIONS[(call * STEP) % COMBINATIONS.length] ?? assert.fail();

describe('two replicas over backends with exchanged tokens', { skip: noRedis }, () => {
  const start = async (t: TestContext) => {
    let passedMs = 0;
    /** Timers go by the real time: only what is compared with the time sees it pass. */
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + passedMs };
    const endsAt = clock.now() + 3_600_000;
    const redis = await startRedis();
    t.after(() => redis.stop());
    const endpoint = await startTokenEndpoint();
    t.after(() => endpoint.close());
    const faults: string[] = [];
    /** Serials of tokens that have expired. */
    let expired = 0;
    const on = ({ recorded: { headers, params, method } }: Exchange) => {
      const told = /^exchanged (\d+) for (\S+) /.exec(exchangedIn(headers.authorization) ?? '');
      if (!told || Number(told[1]) <= expired) return answerStatus(401);
      const { who } = (params['arguments'] ?? {}) as { readonly who?: string };
      if (method === 'tools/call' && who !== told[2]) faults.push(`a call of ${who} by ${told[2]}`);
      return undefined;
    };
    const backends = await Promise.all(BACKENDS.map(() => startBackend({ on })));
    t.after(() => Promise.all(backends.map((backend) => backend.close())));
    const urls = Object.fromEntries(backends.map(({ url }, index) => [BACKENDS[index] ?? '', url]));
    const file = configFile(urls, {
      sessionStorage: { provider: 'kvstore', address: redis.address },
      outgoingAuth: {
        source: 'inline',
        default: { type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url } },
      },
    });
    const features = () => ({ gate: tokenGate(clock.now) });
    const replicas = await Promise.all(
      REPLICAS.map(async () => {
        const replica = await startReplica(file, {}, { clock, features });
        t.after(() => replica.stop());
        return replica;
      }),
    );
    const urlOf = (replica: number): string => replicas[replica]?.url ?? assert.fail();
    const headersOf = (user: string) => bearer(user, endsAt);
    // Each session is used at both replicas.
    const sessions = new Map(
      await Promise.all(
        USERS.map(async (user, index) => [user, await openShared(urlOf(index % 2), {}, headersOf(user))] as const),
      ),
    );
    const call = async (number: number): Promise<void> => {
      const { user, backend, replica, isModern } = turnOf(number);
      const [name, args] = [`${backend}_echo`, { who: user, number }];
      const params = { name, arguments: args };
      const answer = isModern
        ? await sendModern(urlOf(replica), { id: number, name, args, headers: headersOf(user) })
        : await sessions.get(user)?.send(urlOf(replica), { id: number, method: 'tools/call', params });
      assert.ok(answer);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(resultText(answer), `echo ${JSON.stringify(args)}`);
    };
    /** Makes so many calls, a few at a time; `onMade` with each that is answered. */
    const load = async (first: number, onMade: (made: number) => void = () => {}): Promise<void> => {
      let [next, made] = [first, 0];
      const client = async (): Promise<void> => {
        while (next < first + CALLS) {
          const number = next;
          next += 1;
          await call(number);
          made += 1;
          onMade(made);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, client));
    };
    return {
      load,
      faults,
      exchanges: () => endpoint.exchanges.length,
      /** What each replica has counted. */
      exchangesOf: () =>
        Promise.all(
          replicas.map(async (replica) => {
            const counts = await scraped(replica, 'vmcp_credential_exchange_duration_seconds_count');
            return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
          }),
        ),
      /** All tokens that were had so far end. */
      expire: () => {
        expired = endpoint.exchanges.length;
        passedMs += 300_000;
      },
      callsAt: () => backends.map(({ requests }) => requests.filter(({ method }) => method === 'tools/call').length),
    };
  };

  test('1,000 calls by 10 users to 5 backends take 50 exchanges of each replica; tokens that all end amid a thousand more fail no call, and take 50 more', async (t) => {
    const { load, faults, exchanges, exchangesOf, expire, callsAt } = await start(t);
    await load(0);
    assert.deepEqual(await exchangesOf(), [50, 50]);
    assert.equal(exchanges(), 100);
    assert.deepEqual(callsAt(), Array(5).fill(CALLS / 5));

    await load(CALLS, (made) => {
      if (made === CALLS / 2) expire();
    });
    assert.deepEqual(await exchangesOf(), [100, 100]);
    assert.equal(exchanges(), 200);
    assert.deepEqual(faults, []);
  });
});
