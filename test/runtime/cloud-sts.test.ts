import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connectStrategy } from '../../runtime/outgoing/index.ts';
import type { Running } from '../../runtime/start.ts';
import { compareText } from '../../runtime/text.ts';
import { until } from '../cluster/until.ts';
import { resultText } from '../fixtures/answers.ts';
import { answerStatus, type Exchange, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { roleArn } from '../fixtures/cloud-sts.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { type IdentityProvider, startIdentityProvider } from '../fixtures/identity-provider.ts';
import { LISTEN_HEADERS, listenRequest } from '../fixtures/listening.ts';
import { sendModern } from '../fixtures/modern-caller.ts';
import { oidcOf } from '../fixtures/protected-gateway.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { arrived, verifySigV4 } from '../fixtures/sigv4-verifier.ts';
import { type FixtureSts, startSts, stsError } from '../fixtures/sts.ts';

const REGION = 'eu-west-1';
const soon = { timeoutMs: 10_000, intervalMs: 1 };

/** A request that arrived signed. */
interface Signed {
  readonly what: string;
  readonly roleArn: string;
  /** Of the role session. */
  readonly user: string;
}

describe('a gateway in front of a backend that verifies signatures', () => {
  const clock = frozenClock();
  const signed: Signed[] = [];
  const faults: string[] = [];
  const unsigned: string[] = [];
  /** By session of the backend: whose it is. */
  const owners = new Map<string, string>();
  let provider: IdentityProvider;
  let sts: FixtureSts;
  let backend: FixtureBackend;
  let running: Running;

  const on = ({ recorded: { headers, http, method, body }, response }: Exchange) => {
    const what = method ?? (http === 'POST' ? 'answer' : http);
    if (headers.authorization === undefined) {
      unsigned.push(what);
      return answerStatus(403, '{"__type":"MissingAuthenticationTokenException"}');
    }
    const verdict = verifySigV4(arrived(response.req, body), {
      keyOf: sts.keyOf,
      region: REGION,
      service: 'cloud-mcp',
      now: clock.now,
    });
    if (!verdict.ok) {
      if (verdict.problem !== 'unknown key') faults.push(`${what}: ${verdict.problem}`);
      return answerStatus(403, '{"__type":"UnrecognizedClientException"}');
    }
    const role = sts.keyOf(verdict.accessKeyId);
    const user = role?.sessionName ?? '';
    signed.push({ what, roleArn: role?.roleArn ?? '', user });
    const session = headers['mcp-session-id'];
    if (typeof session === 'string') {
      const owner = owners.get(session) ?? user;
      owners.set(session, owner);
      if (owner !== user) faults.push(`${what}: ${user} in a session of ${owner}`);
    }
    return undefined;
  };

  before(async () => {
    provider = await startIdentityProvider({ now: clock.now });
    sts = await startSts(clock);
    backend = await startBackend({
      tools: ['echo'],
      lists: { resources: ['{"uri":"a://1","name":"1"}'], prompts: ['{"name":"p"}'] },
      capabilities: { resources: { subscribe: true }, completions: {} },
      hasStream: true,
      on,
    });
    const cloudSts = {
      region: REGION,
      fallbackRoleArn: roleArn('reader'),
      roleMappings: [
        { roleArn: roleArn('admin'), claim: 'admins', priority: 1 },
        { roleArn: roleArn('dev'), matcher: 'claims.email.endsWith("@dev.example")', priority: 2 },
      ],
    };
    running = await startRuntime(
      configFile(
        { a: `${backend.url}?tenant=t%20one&a=b` },
        {
          incomingAuth: { type: 'oidc', oidc: oidcOf(provider) },
          outgoingAuth: { source: 'inline', backends: { a: { type: 'cloud_sts', cloudSts } } },
        },
      ),
      {},
      {
        clock,
        features: () => ({
          connectStrategy: (config, deps) => connectStrategy(config, { ...deps, fetch: sts.fetch }),
        }),
      },
    );
  });
  after(async () => {
    clock.advance(60_000);
    const stopped = running.stop();
    await Promise.all([backend.close(), provider.close(), sts.close()]);
    clock.advance(60_000);
    await stopped;
  });

  const tokens = new Map<string, string>();
  const tokenOf = async (user: string): Promise<string> => {
    const known = tokens.get(user);
    if (known !== undefined) return known;
    const more = user === 'alice' ? { groups: ['admins'] } : { email: `${user}@dev.example` };
    const token = await provider.token({ sub: user, ...more }, { lifeSeconds: 36_000 });
    tokens.set(user, token);
    return token;
  };
  const bearer = async (user: string) => ({ authorization: `Bearer ${await tokenOf(user)}` });

  const openAs = async (user: string) => {
    const { headers } = await post(running.url, INITIALIZE, await bearer(user));
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
    let id = 0;
    const send = async (message: object) => post(running.url, message, { ...session, ...(await bearer(user)) });
    const request = (method: string, params: object = {}) => send({ jsonrpc: '2.0', id: (id += 1), method, params });
    return { user, session, request, send };
  };

  const wasSigned = (what: string, user: string): boolean =>
    signed.some((each) => each.what === what && each.user === user);
  const allSigned = (user: string, ...all: readonly string[]): Promise<unknown> =>
    until(
      `${all.join()} of ${user}`,
      async () => (all.every((what) => wasSigned(what, user)) ? true : undefined),
      soon,
    );

  test('signs everything that users of both generations send, streams and ends of sessions included', async () => {
    const clients = await Promise.all(['alice', 'bob'].map(openAs));
    const large = 'x'.repeat(100_000);
    const streams = await Promise.all(
      clients.map(async ({ session, user }) => {
        const stop = new AbortController();
        const headers = { ...session, ...(await bearer(user)), accept: 'text/event-stream' };
        await fetch(running.url, { headers, signal: stop.signal });
        return stop;
      }),
    );
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        clients.flatMap(({ request, send, user }) => [
          request('tools/call', { name: 'a_echo', arguments: { of: user, round, large } }).then((answer) =>
            assert.match(resultText(answer), new RegExp(`^echo {"of":"${user}","round":${round}`)),
          ),
          request('prompts/get', { name: 'a_p' }),
          request('resources/read', { uri: 'a://1' }),
          request('resources/subscribe', { uri: 'a://1' }),
          request('completion/complete', {
            ref: { type: 'ref/prompt', name: 'a_p' },
            argument: { name: 'x', value: '' },
          }),
          request('tools/list'),
          send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }),
          bearer(user).then((headers) => sendModern(running.url, { args: { of: user }, headers })),
          bearer(user).then((headers) => sendModern(running.url, { method: 'prompts/get', name: 'a_p', headers })),
        ]),
      );
    const listening = new AbortController();
    await fetch(running.url, {
      method: 'POST',
      headers: { ...LISTEN_HEADERS, ...(await bearer('bob')) },
      body: listenRequest({ resourceSubscriptions: ['a://1'] }),
      signal: listening.signal,
    });
    const methods = ['initialize', 'notifications/initialized', 'tools/list', 'tools/call', 'prompts/get', 'GET'];
    const more = ['resources/read', 'resources/subscribe', 'completion/complete'];
    for (const { user } of clients) await allSigned(user, ...methods, ...more);
    for (const stop of [...streams, listening]) stop.abort();
    for (const { user, session } of clients) {
      const headers = { ...session, ...(await bearer(user)) };
      assert.equal((await fetch(running.url, { method: 'DELETE', headers })).status, 204);
      await allSigned(user, 'DELETE');
    }
    assert.deepEqual(faults, []);
    assert.deepEqual(sts.faults, []);
    // Once for each user, whatever was sent at the same time.
    assert.deepEqual(sts.given.map((each) => `${each.sessionName}: ${each.roleArn}`).toSorted(compareText), [
      `alice: ${roleArn('admin')}`,
      `bob: ${roleArn('dev')}`,
    ]);
    for (const { token, sessionName } of sts.given) assert.equal(token, await tokenOf(sessionName));
    assert.ok(signed.every((each) => each.roleArn === roleArn(each.user === 'alice' ? 'admin' : 'dev')));
  });

  test('checks the backend without anybody’s credential, and does not take it for down', async () => {
    assert.ok(unsigned.length > 0, 'the gateway’s own checks');
    const status = (await (await fetch(new URL('/status', running.managementUrl))).json()) as {
      readonly backends: readonly { readonly name: string; readonly status: string }[];
    };
    assert.deepEqual(
      status.backends.map(({ name, status: is }) => [name, is]),
      [['a', 'unauthenticated']],
    );
  });

  test('goes on with new credentials when the old ones end, or are revoked', async () => {
    const call = async () => resultText(await sendModern(running.url, { args: {}, headers: await bearer('alice') }));
    assert.equal(await call(), 'echo {}');
    // What is open for others goes on in the background.
    const given = (): number => sts.given.filter(({ sessionName }) => sessionName === 'alice').length;
    const before = given();
    for (let hour = 0; hour < 3; hour += 1) {
      clock.advance(3_600_000);
      assert.equal(await call(), 'echo {}');
    }
    assert.equal(given(), before + 3);
    sts.revoke();
    assert.equal(await call(), 'echo {}');
    assert.equal(given(), before + 4);
    assert.deepEqual(faults, []);
  });

  test('answers with an error of the call, and no 401, where no role is given', async () => {
    const send = async () => sendModern(running.url, { args: {}, headers: await bearer('carol') });
    assert.match(resultText(await send()), /^echo/);
    sts.instead = stsError('AccessDenied');
    clock.advance(3_600_000);
    const answer = await send();
    sts.instead = undefined;
    assert.equal(answer.status, 200);
    assert.match(answer.text, /no credential for backend \\"a\\" \(cloud_sts\): the security token service refuses/);
    assert.doesNotMatch(answer.text, /AccessDenied|secret|arn:/);
    assert.match(resultText(await send()), /^echo/);
  });
});
