import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultText } from '../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { type IdentityProvider, startIdentityProvider } from '../fixtures/identity-provider.ts';
import { oidcOf, ON_LOOPBACK } from '../fixtures/protected-gateway.ts';
import { openSession, type RawAnswer } from '../fixtures/raw-client.ts';
import { noRedis, startRedis, type TestRedis } from '../fixtures/redis.ts';
import { isReady } from '../fixtures/replicas.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { eventsIn, type ReadEvent } from '../runtime/observe/audit/audited.ts';

/** Each user may call so often. */
const CALLS = 2;

describe('two users whom two issuers give the same subject, at two replicas', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let issuers: readonly [IdentityProvider, IdentityProvider];
  let replicas: readonly [Running, Running];
  let folder: string;
  const tokens: string[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'two-issuers-'));
    redis = await startRedis();
    backend = await startBackend();
    issuers = [await startIdentityProvider(), await startIdentityProvider()];
    replicas = [await startReplica(0), await startReplica(1)];
  });
  after(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await Promise.all([redis.stop(), backend.close(), ...issuers.map((issuer) => issuer.close())]);
    await rm(folder, { recursive: true });
  });

  const logOf = (replica: number): string => join(folder, `${replica}.log`);

  const startReplica = async (replica: number): Promise<Running> => {
    const [main, further] = issuers;
    const running = await startRuntime(
      configFile(
        { a: backend.url },
        {
          incomingAuth: { type: 'oidc', oidc: oidcOf(main) },
          sessionStorage: { provider: 'kvstore', address: redis.address },
          rateLimiting: { perUser: { maxTokens: CALLS, refillPeriod: '1h' } },
          audit: { enabled: true, logFile: logOf(replica), includeRequestData: true, includeResponseData: true },
          extensions: { issuers: [{ issuer: further.issuer, ...ON_LOOPBACK }], audit: { mode: 'blocking' } },
        },
      ),
    );
    await isReady(running.managementUrl);
    return running;
  };

  /** Another token each time. */
  const bearer = async (issuer: IdentityProvider): Promise<Record<string, string>> => {
    const token = await issuer.token({ client_id: 'app' }, { lifeSeconds: 3_600 + tokens.length });
    tokens.push(token);
    return { authorization: `Bearer ${token}` };
  };

  /** A user's session, of which every request has a newer token and goes to the other replica. */
  const enter = async (issuer: IdentityProvider) => {
    let turn = 0;
    const session = await openSession(replicas[0].url, {}, await bearer(issuer));
    const call = async (as = issuer): Promise<RawAnswer> => {
      turn += 1;
      const body = JSON.stringify({ jsonrpc: '2.0', id: turn, method: 'tools/call', params: CALL });
      const headers = { ...HEADERS, 'mcp-session-id': session.id, ...(await bearer(as)) };
      const response = await fetch(replicas[turn % 2 === 1 ? 1 : 0].url, { method: 'POST', headers, body });
      const text = await response.text();
      const { status, headers: answered } = response;
      return { status, headers: answered, text, json: JSON.parse(text) as unknown, messages: [] };
    };
    return { call };
  };

  test('have sessions and limits of their own, whichever replica and token they use, and the audit log tells them apart', async () => {
    const [one, two] = issuers;
    const first = await enter(one);
    const second = await enter(two);
    assert.equal((await first.call(two)).status, 404, 'the session of the other');
    for (let call = 0; call < CALLS; call += 1) assert.equal(resultText(await first.call()), 'echo {}');
    assert.equal(errorOf(await first.call()).data.reason, 'rate_limited');
    for (let call = 0; call < CALLS; call += 1) assert.equal(resultText(await second.call()), 'echo {}');
    assert.equal(errorOf(await second.call()).data.reason, 'rate_limited');
    const refused = await fetch(replicas[1].url, {
      method: 'POST',
      headers: { ...HEADERS, authorization: `Bearer ${tokens[0]}x` },
    });
    assert.equal(refused.status, 401);

    const log = (await Promise.all([0, 1].map((replica) => readFile(logOf(replica), 'utf8')))).join('');
    const calls = eventsIn(log).filter(({ type }) => type === 'mcp_tool_call');
    for (const [issuer, denied] of [
      [one, 1],
      [two, 1],
    ] as const) {
      const own = calls.filter(
        ({ subjects }) => subjects?.['issuer'] === issuer.issuer && subjects['user_id'] === 'alice',
      );
      const outcomes = (outcome: string): number => own.filter((event) => event.outcome === outcome).length;
      assert.deepEqual([outcomes('success'), outcomes('denied')], [CALLS, denied]);
      assert.ok(own.every(({ subjects }) => subjects?.['client_id'] === 'app'));
      assert.ok(loginsOf(eventsIn(log), issuer.issuer).every((event) => event.subjects?.['user_id'] === 'alice'));
    }
    const badLogin = eventsIn(log).findLast(({ type, outcome }) => type === 'login' && outcome === 'denied');
    assert.equal(badLogin?.subjects, undefined, 'nothing of a token that is not valid is believed');
    // Neither tokens nor the signatures without which they are worth nothing.
    const parts = tokens.flatMap((token) => [token, token.split('.')[2] ?? '']);
    assert.deepEqual(
      parts.filter((part) => log.includes(part)),
      [],
    );
  });
});

const CALL = { name: 'a_echo', arguments: {} };
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const loginsOf = (events: readonly ReadEvent[], issuer: string): readonly ReadEvent[] => {
  const logins = events.filter(
    ({ type, outcome, subjects }) => type === 'login' && outcome === 'success' && subjects?.['issuer'] === issuer,
  );
  assert.ok(logins.length > CALLS);
  return logins;
};
