import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Behaviour, textResult } from '../fixtures/backend.ts';
import { AUDIENCE } from '../fixtures/identity-provider.ts';
import { listen, LISTEN_HEADERS, listenRequest } from '../fixtures/listening.ts';
import { openSse } from '../fixtures/old-client.ts';
import { ON_LOOPBACK, startProtected } from '../fixtures/protected-gateway.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { noRedis, startRedis } from '../fixtures/redis.ts';
import { isReady, openShared } from '../fixtures/replicas.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { startLegacyWatched } from '../fixtures/watched-backends.ts';
import {
  endsInOrder,
  hears,
  is,
  listenStatus,
  startWatched,
  subscribed,
  UPDATED,
  URI,
  WATCHED,
  withToken,
} from '../fixtures/watched-gateway.ts';

const OTHER_AUDIENCE = 'https://other.example';

const byText = (one: readonly unknown[], other: readonly unknown[]): number => String(one).localeCompare(String(other));

describe('what is open when authentication changes', () => {
  for (const [what, changed, begun] of [
    ['the audience', () => ({ audience: OTHER_AUDIENCE }), 401],
    ['the keys', () => ({ issuerKeys: { keys: [] } }), 503],
    ['the issuer', () => ({ issuer: 'https://idp.example' }), 401],
    ['the required scopes', () => ({ scopes: ['more'] }), 403],
  ] as const)
    test(`ends with ${what}: streams, sessions, and what they hold at backends`, async (t) => {
      const gateway = await startWatched(t);
      const { running, provider, lines, decided } = gateway;
      const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
      const token = await provider.token();
      const listening = await hears(gateway, token);
      const { stream } = await subscribed(gateway, token);
      const old = await openSse(running.url, withToken(token));
      const before = decided.length;
      assert.ok(gateway.users() > 0);
      assert.deepEqual(running.reload(gateway.file({ ...keys, ...changed() })), { ok: true });
      await Promise.all([endsInOrder(listening), stream.ended, old.ended]);
      await is('nothing is held at the backend', () => gateway.users() === 0);
      if (begun !== 503) assert.equal(await listenStatus(gateway, token), begun);
      await is('it is logged', () => lines.some(({ message }) => message.startsWith('streams and sessions ended')));
      assert.deepEqual(
        decided
          .slice(before)
          .map(({ method, caller, refusal }) => [method, caller.kind === 'user' && caller.subject, refusal?.code])
          .toSorted(byText),
        [
          ['DELETE', 'alice', 'invalid_token'],
          ['GET', 'alice', 'invalid_token'],
          ['subscriptions/listen', 'alice', 'invalid_token'],
        ],
      );
    });

  test('goes on where the token is still taken', async (t) => {
    const gateway = await startWatched(t);
    const { running, provider } = gateway;
    const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
    const token = await provider.token({ scope: 'mcp' });
    const listening = await hears(gateway, token);
    const { session, stream } = await subscribed(gateway, token);
    assert.deepEqual(running.reload(gateway.file({ ...keys, scopes: ['mcp'] })), { ok: true });
    assert.equal((await session.send(running.url, { id: 1, method: 'ping' })).status, 200);
    gateway.update();
    assert.equal((await listening.next())?.method, UPDATED);
    await stream.heard(UPDATED);
    await listening.close();
    stream.close();
  });

  test('goes on where the token that the client presented last is taken, whatever becomes of an earlier one', async (t) => {
    const gateway = await startWatched(t);
    const { provider, running, file } = gateway;
    const listening = await hears(gateway, await provider.token());
    const both = await provider.token({ aud: [AUDIENCE, OTHER_AUDIENCE] });
    assert.equal((await gateway.enter(both)).status, 200);
    assert.deepEqual(running.reload(file({ audience: OTHER_AUDIENCE })), { ok: true });
    assert.equal((await gateway.enter(both)).status, 200);
    gateway.update();
    assert.equal((await listening.next())?.method, UPDATED);
    await listening.close();
  });

  test('ends for the callers of an issuer that was removed, and for no others', async (t) => {
    const ci = await startProtected();
    t.after(() => ci.stop());
    const issuer = {
      issuer: ci.provider.issuer,
      audience: AUDIENCE,
      issuerKeys: { keys: [ci.provider.key().publicJwk] },
      ...ON_LOOPBACK,
    };
    const gateway = await startWatched(t, { more: { extensions: { issuers: [issuer] } } });
    const [theirs, ours] = [
      await hears(gateway, await ci.provider.token()),
      await hears(gateway, await gateway.provider.token()),
    ];
    const keys = { issuerKeys: { keys: [gateway.provider.key().publicJwk] } };
    assert.deepEqual(gateway.running.reload(gateway.file(keys, {})), { ok: true });
    await endsInOrder(theirs);
    gateway.update();
    assert.equal((await ours.next())?.method, UPDATED);
    await ours.close();
  });

  test('ends where the token cannot be verified, as its issuer does not answer', async (t) => {
    const gateway = await startWatched(t);
    const { running, provider } = gateway;
    const listening = await hears(gateway, await provider.token());
    provider.beAway(true);
    assert.deepEqual(running.reload(gateway.file({})), { ok: true });
    await endsInOrder(listening);
  });

  test('ends where everybody was anonymous before', async (t) => {
    const backend = await startLegacyWatched('a');
    const gateway = await startProtected();
    const running = await startRuntime(configFile({ a: backend.url }));
    t.after(async () => {
      await running.stop();
      await Promise.all([backend.close(), gateway.stop()]);
    });
    const session = await openShared(running.url);
    await session.send(running.url, { id: 1, method: 'resources/list' });
    const stream = await session.listen(running.url);
    const listening = await listen(running.url, { resourceSubscriptions: [URI] });
    await listening.next();
    assert.deepEqual(running.reload(gateway.file()), { ok: true });
    await Promise.all([endsInOrder(listening), stream.ended]);
    assert.equal((await session.send(running.url, { id: 2, method: 'ping' })).status, 401);
  });

  test('lets calls under way have their answers, over HTTP+SSE as well', async (t) => {
    const gateway = await startWatched(t);
    const { running, provider, backend } = gateway;
    const answers = Promise.withResolvers<void>();
    const slowly: Behaviour = ({ id, response }) =>
      void answers.promise.then(() => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"jsonrpc":"2.0","id":${id},"result":${textResult('late')}}`);
      });
    backend.set({ ...WATCHED, on: ({ recorded: { method } }) => (method === 'tools/call' ? slowly : undefined) });
    const token = await provider.token();
    const session = await openShared(running.url, {}, withToken(token));
    const stream = await session.listen(running.url);
    const answer = session.call(running.url, 1, 'a_echo');
    const old = await openSse(running.url, withToken(token));
    await post(old.address, INITIALIZE, withToken(token));
    await old.heard('"id":0,');
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'a_echo' } };
    assert.equal((await post(old.address, call, withToken(token))).status, 202);
    await is('both calls', () => backend.requests.filter(({ method }) => method === 'tools/call').length === 2);
    const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
    assert.deepEqual(running.reload(gateway.file({ ...keys, audience: OTHER_AUDIENCE })), { ok: true });
    await stream.ended;
    assert.equal((await session.call(running.url, 2, 'a_echo')).status, 401);
    answers.resolve();
    assert.match((await answer).text, /late/);
    await old.ended;
    assert.match(old.text(), /"id":7,.*late/);
    await is('no session is held at the backend', () => gateway.users() === 0);
  });

  test(
    'ends in a session that replicas share: here at once, at all of them a while later',
    { skip: noRedis },
    async (t) => {
      const redis = await startRedis();
      t.after(() => redis.stop());
      const more = { sessionStorage: { provider: 'kvstore', address: redis.address } };
      const gateway = await startWatched(t, { more });
      const { running, provider, clock } = gateway;
      await isReady(running.managementUrl);
      const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
      const token = await provider.token();
      const { session, stream } = await subscribed(gateway, token);
      assert.deepEqual(running.reload(gateway.file({ ...keys, audience: OTHER_AUDIENCE })), { ok: true });
      await stream.ended;
      await is('no stream is held at the backend', () => gateway.backend.streams.size === 0);
      assert.ok(gateway.users() > 0, 'other replicas may have calls in it');
      // Step by step, as what is sent to the store has deadlines, too.
      for (let second = 0; second < 30; second += 1) {
        clock.advance(1_000);
        await isReady(running.managementUrl);
      }
      await is('nothing is held at the backend', () => gateway.users() === 0);
      assert.deepEqual(running.reload(gateway.file(keys)), { ok: true });
      assert.equal((await session.send(running.url, { id: 2, method: 'ping' })).status, 404);
    },
  );

  test('is looked at once more, for what requests of before the change have opened', async (t) => {
    const gateway = await startWatched(t);
    const { running, provider, clock } = gateway;
    const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
    const token = await provider.token();
    const { hostname, port } = new URL(running.url);
    const { connect } = await import('node:net');
    const body = listenRequest({ toolsListChanged: true });
    const head = Object.entries({ ...LISTEN_HEADERS, ...withToken(token), 'content-length': `${body.length}` });
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    await new Promise((resolve) => socket.once('connect', resolve));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const ended = new Promise<void>((resolve) => socket.on('end', resolve));
    const written = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${written}\r\n${body.slice(0, 10)}`);
    // The token is known once another request with it was answered. That one opens nothing: what it had opened would be
    // looked at at once, and the token refused before the body is there.
    const { status } = await post(running.url, { jsonrpc: '2.0', id: 1, method: 'ping' }, withToken(token));
    assert.equal(status, 400);
    await setImmediate();
    assert.deepEqual(running.reload(gateway.file({ ...keys, audience: OTHER_AUDIENCE })), { ok: true });
    socket.write(body.slice(10));
    await is('it listens', () => text.includes('acknowledged'));
    clock.advance(60_000);
    await ended;
    assert.match(text, /"resultType":"complete"/);
  });
});

describe('a stream whose caller has no valid token any more', () => {
  test('ends in place of what it would tell, and the client listens anew', async (t) => {
    const gateway = await startWatched(t);
    const { provider, clock } = gateway;
    const listening = await hears(gateway, await provider.token({}, { lifeSeconds: 60 }));
    const { stream } = await subscribed(gateway, await provider.token({}, { lifeSeconds: 60 }));
    gateway.update();
    assert.equal((await listening.next())?.method, UPDATED);
    await stream.heard(UPDATED);
    clock.advance(91_000);
    gateway.update();
    await Promise.all([endsInOrder(listening), stream.ended]);
    assert.equal(stream.messages.length, 1);
  });

  test('goes on where the same client has presented a newer one', async (t) => {
    const gateway = await startWatched(t);
    const { provider, clock, running } = gateway;
    const first = await provider.token({}, { lifeSeconds: 60 });
    const listening = await hears(gateway, first);
    const { session, stream } = await subscribed(gateway, first);
    const newer = withToken(await provider.token());
    const { status } = await post(
      running.url,
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-session-id': session.id, ...newer },
    );
    assert.equal(status, 200);
    clock.advance(91_000);
    gateway.update();
    assert.equal((await listening.next())?.method, UPDATED);
    await stream.heard(UPDATED);
    await listening.close();
    stream.close();
  });

  test('is decided again for the rights of the newer one', async (t) => {
    const STAFF = 'permit(principal, action, resource) when { principal.claim_groups.contains("staff") };';
    const gateway = await startWatched(t, { policies: [STAFF] });
    const { provider, clock, running } = gateway;
    const staff = await provider.token({ groups: ['staff'] }, { lifeSeconds: 60 });
    const listening = await hears(gateway, staff);
    const { session, stream } = await subscribed(gateway, staff);
    gateway.update();
    assert.equal((await listening.next())?.method, UPDATED);
    await stream.heard(UPDATED);
    clock.advance(91_000);
    const left = { 'mcp-session-id': session.id, ...withToken(await provider.token({ groups: [] })) };
    assert.equal((await post(running.url, { jsonrpc: '2.0', id: 1, method: 'ping' }, left)).status, 200);
    await stream.heard('notifications/resources/list_changed');
    gateway.update();
    await endsInOrder(listening);
    assert.equal(stream.messages.filter(({ method }) => method === UPDATED).length, 1);
    stream.close();
  });
});
