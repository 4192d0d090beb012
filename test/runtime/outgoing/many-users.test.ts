import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { answerJson, answerStatus, type Exchange, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { resultText } from '../../fixtures/answers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { exchangedIn, startTokenEndpoint, type TokenEndpoint } from '../../fixtures/token-endpoint.ts';
import { covers } from '../../requirements.ts';

const ENDS_AT = Date.UTC(2026, 0, 2);
const OPERATIONS = 2_000;

/** Numbers that are the same in every run. */
const seeded = (seed: number): (() => number) => {
  let last = seed;
  return () => {
    last = (last * 1_103_515_245 + 12_345) % 2_147_483_648;
    return last / 2_147_483_648;
  };
};

const exchanging = (tokenUrl: string) => ({ type: 'token_exchange', tokenExchange: { tokenUrl } });

/** The user by whose token a request was sent. */
const userIn = ({ recorded: { headers } }: Exchange): string | undefined =>
  / for (\S+) /.exec(exchangedIn(headers.authorization) ?? '')?.[1];

const LISTED = {
  tools: ['echo'],
  lists: { resources: ['{"uri":"x://1","name":"1"}'], prompts: ['{"name":"p"}'] },
  capabilities: { resources: { subscribe: true }, completions: {}, logging: {} },
  hasStream: true,
} as const;

/** A backend of 2026-07-28 with the same lists under another name. */
const modernResults: Readonly<Record<string, string>> = {
  'server/discover':
    '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}',
  'tools/list': '{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}',
  'prompts/list': '{"resultType":"complete","prompts":[{"name":"p"}]}',
  'resources/list': '{"resultType":"complete","resources":[{"uri":"y://1","name":"1"}]}',
  'resources/templates/list': '{"resultType":"complete","resourceTemplates":[]}',
  'tools/call': '{"resultType":"complete","content":[{"type":"text","text":"fine"}]}',
  'prompts/get': '{"resultType":"complete","messages":[]}',
  'resources/read': '{"resultType":"complete","contents":[]}',
};

describe('many users of backends with exchanged tokens', () => {
  const start = async (backends: Readonly<Record<string, FixtureBackend>>, endpoint: TokenEndpoint) => {
    const clock = frozenClock();
    const urls = Object.fromEntries(Object.entries(backends).map(([name, { url }]) => [name, url]));
    const running = await startRuntime(
      configFile(urls, { outgoingAuth: { source: 'inline', default: exchanging(endpoint.url) } }),
      {},
      { clock, features: (deps) => ({ gate: tokenGate(deps.clock.now) }) },
    );
    const stop = async (): Promise<void> => {
      const stopped = running.stop();
      await Promise.all(Object.values(backends).map((backend) => backend.close()));
      clock.advance(60_000);
      await stopped;
      await endpoint.close();
    };
    return { running, clock, stop };
  };

  test('1,000 calls by 10 users to 5 backends take 50 exchanges', async (t) => {
    const endpoint = await startTokenEndpoint();
    const names = ['a', 'b', 'c', 'd', 'e'];
    const on = (exchange: Exchange) => (userIn(exchange) === undefined ? answerStatus(401) : undefined);
    const backends = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await startBackend({ on })])),
    );
    const { running, stop } = await start(backends as Record<string, FixtureBackend>, endpoint);
    t.after(stop);
    const calls = Array.from({ length: 1_000 }, (_, index) => async () => {
      const headers = bearer(`user-${index % 10}`, ENDS_AT);
      const answer = await sendModern(running.url, {
        name: `${names[Math.floor(index / 10) % 5] ?? ''}_echo`,
        headers,
      });
      assert.equal(resultText(answer), 'echo undefined');
    });
    // Users take turns faster than backends do, so that each user calls each backend.
    for (let first = 0; first < calls.length; first += 50)
      await Promise.all(calls.slice(first, first + 50).map((call) => call()));
    assert.equal(endpoint.exchanges.length, 50);
  });

  covers('outgoing-auth.boundary-separate');
  test('no request ever carries the credential of another user, whatever is sent and when', async (t) => {
    const random = seeded(1);
    const endpoint = await startTokenEndpoint();
    const faults: string[] = [];
    const kinds = new Map<string, number>();
    const owners = new Map<string, string>();
    /** Serials of tokens that backends no longer take. */
    let revoked = -1;
    const check = (backend: string, exchange: Exchange): ReturnType<typeof answerStatus> | undefined => {
      const user = userIn(exchange);
      const { headers, params, method, http } = exchange.recorded;
      if (user === undefined) return answerStatus(401);
      const kind = `${backend} ${method ?? http}`;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      const { who } = (params['arguments'] ?? {}) as { who?: string };
      if (who !== undefined && who !== user) faults.push(`${kind} of ${who} by ${user}`);
      const session = headers['mcp-session-id'] as string | undefined;
      if (session !== undefined) {
        const owner = owners.get(session) ?? user;
        owners.set(session, owner);
        if (owner !== user) faults.push(`${kind} in the session of ${owner} by ${user}`);
      }
      const serial = Number(/ (\d+)$/.exec(exchangedIn(headers.authorization) ?? '')?.[1]);
      return serial <= revoked ? answerStatus(401) : undefined;
    };
    const backends = {
      a: await startBackend({ ...LISTED, on: (exchange) => check('a', exchange) }),
      m: await startBackend({
        on: (exchange) => {
          const result = modernResults[exchange.recorded.method ?? ''];
          return check('m', exchange) ?? (result === undefined ? answerStatus(400) : answerJson(result));
        },
      }),
    };
    const { running, clock, stop } = await start(backends, endpoint);
    t.after(stop);
    const serials = new Map([
      ['alice', 0],
      ['bob', 0],
      ['carol', 0],
    ]);
    const users = [...serials.keys()];
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
    const headersOf = (user: string) => bearer(user, ENDS_AT, serials.get(user));
    const sessions = new Map<string, RawSession>();
    const sessionOf = async (user: string): Promise<RawSession> => {
      const known = sessions.get(user) ?? (await openSession(running.url, { elicitation: {} }, headersOf(user)));
      sessions.set(user, known);
      return known;
    };
    const operations: readonly ((user: string) => Promise<unknown>)[] = [
      async (user) => (await sessionOf(user)).call(pick(['a_echo', 'm_echo']), { who: user }),
      async (user) =>
        (await sessionOf(user)).request('prompts/get', { name: pick(['a_p', 'm_p']), arguments: { who: user } }),
      async (user) => (await sessionOf(user)).request('resources/read', { uri: pick(['x://1', 'y://1']) }),
      async (user) =>
        (await sessionOf(user)).request(pick(['resources/subscribe', 'resources/unsubscribe']), { uri: 'x://1' }),
      async (user) => (await sessionOf(user)).request('logging/setLevel', { level: pick(['debug', 'error']) }),
      async (user) => (await sessionOf(user)).toolNames(),
      (user) => modern(running, user, 'tools/call', pick(['a_echo', 'm_echo'])),
      (user) => modern(running, user, 'tools/call', pick(['a_echo', 'm_echo'])),
      (user) => modern(running, user, 'prompts/get', pick(['a_p', 'm_p'])),
      (user) => modern(running, user, 'resources/read', pick(['x://1', 'y://1'])),
    ];
    const modern = (to: Running, user: string, method: string, name: string) =>
      sendModern(to.url, { method, name, args: { who: user }, headers: headersOf(user) });
    /** Now and then: time passes, a session ends, backends forget theirs, tokens are new or revoked. */
    const upsets: readonly ((user: string) => Promise<unknown>)[] = [
      async () => clock.advance(20_000),
      async (user) => {
        const known = sessions.get(user);
        sessions.delete(user);
        await known?.end();
      },
      async () => backends.a.sessions.clear(),
      async () => backends.a.streams.forEach((_session, stream) => stream.end()),
      async (user) => serials.set(user, (serials.get(user) ?? 0) + 1),
      async (user) => {
        sessions.delete(user);
        revoked = Math.min(...serials.values()) - 1;
      },
    ];
    for (let done = 0; done < OPERATIONS; done += 8) {
      const batch = Array.from({ length: 8 }, () => pick(operations)(pick(users)));
      const answers = await Promise.allSettled(batch);
      for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
      if (random() < 0.3) await pick(upsets)(pick(users));
    }
    assert.deepEqual(faults, []);
    for (const kind of ['tools/call', 'prompts/get', 'resources/read'])
      for (const backend of ['a', 'm']) assert.ok((kinds.get(`${backend} ${kind}`) ?? 0) > 50, `${backend} ${kind}`);
    for (const kind of ['initialize', 'resources/subscribe', 'logging/setLevel', 'GET', 'DELETE', 'tools/list'])
      assert.ok((kinds.get(`a ${kind}`) ?? 0) > 3, kind);
  });
});
