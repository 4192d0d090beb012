import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { suite, test } from 'node:test';
import { LIMITS } from '../../../../runtime/limits.ts';
import { REFUSED_MS, VALID_MS } from '../../../../runtime/gate/authenticate/token-cache.ts';
import { startBackend } from '../../../fixtures/backend.ts';
import { AUDIENCE, JWKS_PATH, signingKey, startIdentityProvider } from '../../../fixtures/identity-provider.ts';
import { ON_LOOPBACK, startProtected } from '../../../fixtures/protected-gateway.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { covers } from '../../../requirements.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

suite('a session belongs to issuer and subject', () => {
  test('a token that was refreshed goes on in it, one of another user meets no session', async () => {
    const gateway = await startProtected();
    const { provider, running } = gateway;
    const session = await openSession(running.url, {}, bearer(await provider.token()));
    const listed = async (token: string) =>
      session.send({ jsonrpc: '2.0', id: 5, method: 'tools/list' }, bearer(token));
    assert.equal((await listed(await provider.token({ jti: 'newer' }))).status, 200);
    const stolen = await listed(await provider.token({ sub: 'mallory' }));
    assert.equal(stolen.status, 404);
    const unknown = await session.send(
      { jsonrpc: '2.0', id: 5, method: 'tools/list' },
      { ...bearer(await provider.token({ sub: 'mallory' })), 'mcp-session-id': 'unheard-of' },
    );
    const withoutId = (text: string) => text.replace(/"correlationId":"[^"]+"/, '');
    assert.deepEqual([unknown.status, withoutId(unknown.text)], [404, withoutId(stolen.text)]);
    assert.equal((await listed(await provider.token())).status, 200, 'the session is none the worse for it');
    await gateway.stop();
  });

  test('a call goes on to its answer when its token expires, and nothing new starts with it', async () => {
    const gateway = await startProtected();
    const { provider, running, clock, backend } = gateway;
    const token = await provider.token({}, { lifeSeconds: 60 });
    const session = await openSession(running.url, {}, bearer(token));
    await session.toolNames();
    const release = Promise.withResolvers<void>();
    backend.set({
      on: ({ recorded }) =>
        recorded.method === 'tools/call'
          ? ({ id, response }) =>
              void release.promise.then(() =>
                response
                  .writeHead(200, { 'content-type': 'application/json' })
                  .end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`),
              )
          : undefined,
    });
    const call = session.call('a_echo');
    await backend.received(({ method }) => method === 'tools/call');
    clock.advance(20_000);
    clock.advance(20_000);
    clock.advance(20_000);
    clock.advance(30_000);
    assert.equal((await session.request('tools/list')).status, 401);
    release.resolve();
    assert.ok(((await call).json as { result?: object }).result);
    assert.equal((await session.request('tools/list')).status, 401);
    const renewed = bearer(await provider.token());
    assert.equal((await session.send({ jsonrpc: '2.0', id: 7, method: 'tools/list' }, renewed)).status, 200);
    await gateway.stop();
  });
});

suite('what was found out is remembered', () => {
  test('a known token is checked again after a while, an expired one at once', async () => {
    const gateway = await startProtected();
    const { provider, clock } = gateway;
    const token = await provider.token({}, { lifeSeconds: 90 });
    assert.equal((await gateway.enter(token)).status, 200);
    clock.advance(VALID_MS);
    assert.equal((await gateway.enter(token)).status, 200);
    clock.advance(119_999 - VALID_MS);
    assert.equal((await gateway.enter(token)).status, 200);
    clock.advance(1);
    assert.equal((await gateway.enter(token)).status, 401);
    await gateway.stop();
  });

  test('nothing is remembered from one configuration to the next', async () => {
    const gateway = await startProtected();
    const token = await gateway.provider.token();
    assert.equal((await gateway.enter(token)).status, 200);
    const other = await signingKey('key-1');
    assert.deepEqual(gateway.running.reload(gateway.file({ issuerKeys: { keys: [other.publicJwk] } })), { ok: true });
    assert.equal((await gateway.enter(token)).status, 401);
    gateway.running.reload(gateway.file());
    assert.equal((await gateway.enter(token)).status, 200);
    await gateway.stop();
  });

  test('a request that is being checked when the configuration changes is answered', async () => {
    const gateway = await startProtected({ oidc: {} });
    const { provider } = gateway;
    const held = Promise.withResolvers<void>();
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    await provider.rotate();
    gateway.clock.advance(60_000);
    provider.hold = held.promise;
    const asked = provider.asked.length;
    const entering = gateway.enter(await provider.token());
    while (provider.asked.length === asked) await new Promise((resolve) => setTimeout(resolve, 2));
    gateway.running.reload(gateway.file({ scopes: ['other'] }));
    held.resolve();
    assert.equal((await entering).status, 200);
    await gateway.stop();
  });

  test('a reload that leaves incoming authentication alone fetches no keys again', async () => {
    const gateway = await startProtected({ oidc: {} });
    const token = await gateway.provider.token();
    assert.equal((await gateway.enter(token)).status, 200);
    gateway.running.reload(gateway.file({}, { operational: { logLevel: 'debug' } }));
    assert.equal((await gateway.enter(token)).status, 200);
    assert.equal(gateway.provider.count(JWKS_PATH), 1);
    await gateway.stop();
  });

  test('a token that is refused for now is looked at again a little later', async () => {
    const gateway = await startProtected();
    const { provider, clock } = gateway;
    const token = await provider.token({ nbf: Math.floor(clock.now() / 1_000) + 31 });
    assert.equal((await gateway.enter(token)).status, 401);
    clock.advance(1_000);
    assert.equal((await gateway.enter(token)).status, 200);
    clock.advance(REFUSED_MS);
    await gateway.stop();
  });
});

suite('many bad tokens from one address', () => {
  test('lock nobody out: a hundred are nothing, and beyond a thousand a known user goes on', async () => {
    const gateway = await startProtected();
    const { provider, clock } = gateway;
    const good = await provider.token();
    assert.equal((await gateway.enter(good)).status, 200);
    const forged = (number: number): string => `${good.slice(0, -6)}${100_000 + number}`;
    const bad = async (from: number, to: number) => {
      for (let i = from; i < to; i += 50)
        await Promise.all(Array.from({ length: 50 }, (_, j) => gateway.enter(forged(i + j))));
    };
    // What costs no check does not count.
    for (let i = 0; i <= LIMITS.refusedTokens.burst; i += 50)
      await Promise.all(Array.from({ length: 50 }, (_, j) => gateway.enter(`junk-${i + j}`)));
    await bad(0, 100);
    assert.equal((await gateway.enter(await provider.token({ sub: 'bob' }))).status, 200);
    await bad(100, LIMITS.refusedTokens.burst);
    const unknown = await gateway.enter(forged(-1));
    assert.deepEqual([unknown.status, unknown.headers.get('retry-after')], [503, '1']);
    clock.advance(1);
    assert.equal((await gateway.enter(good)).status, 200);
    clock.advance(VALID_MS);
    assert.equal((await gateway.enter(good)).status, 200, 'it was valid before');
    clock.advance(LIMITS.refusedTokens.refillMs);
    assert.equal((await gateway.enter(forged(-1))).status, 401);
    await gateway.stop();
  });
});

suite('further issuers', () => {
  const workload = async () => startIdentityProvider({ audience: 'vmcp' });

  test('have keys, audience, scopes and claims of their own, and are in the metadata', async () => {
    const second = await startIdentityProvider({ audience: 'vmcp', now: () => Date.UTC(2026, 0, 1) });
    const gateway = await startProtected({
      more: {
        extensions: {
          issuers: [
            {
              issuer: second.issuer,
              audience: 'vmcp',
              scopes: ['run'],
              claimMapping: { sub: 'oid', groups: 'roles' },
              ...ON_LOOPBACK,
            },
          ],
        },
      },
    });
    const { provider } = gateway;
    const claims = { oid: 'job-1', scope: 'run' };
    assert.equal((await gateway.enter(await second.token(claims))).status, 200);
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    assert.equal((await gateway.enter(await second.token({ ...claims, aud: AUDIENCE }))).status, 401);
    assert.equal((await gateway.enter(await provider.token({ aud: 'vmcp' }))).status, 401);
    assert.equal((await gateway.enter(await second.token({ oid: 'job-1' }))).status, 403);
    assert.equal((await gateway.enter(await second.token({ scope: 'run' }))).status, 401, 'sub is not oid');
    assert.equal(
      (await gateway.enter(await provider.token({ iss: second.issuer, aud: 'vmcp', ...claims }))).status,
      401,
    );
    assert.equal((await gateway.enter(await second.token({ iss: provider.issuer, aud: AUDIENCE }))).status, 401);
    const metadata = await fetch(new URL('/.well-known/oauth-protected-resource', gateway.running.url));
    const { authorization_servers } = (await metadata.json()) as { authorization_servers: string[] };
    assert.deepEqual(authorization_servers, [provider.issuer, second.issuer]);
    await gateway.stop();
    await second.close();
  });

  test('where the mapping names the claim of the scopes, a token gains none by another claim', async () => {
    const second = await startIdentityProvider({ now: () => Date.UTC(2026, 0, 1) });
    const gateway = await startProtected({
      more: {
        extensions: {
          issuers: [{ issuer: second.issuer, scopes: ['run'], claimMapping: { scope: 'permissions' }, ...ON_LOOPBACK }],
        },
      },
    });
    const statusOf = async (claims: object) => (await gateway.enter(await second.token({ ...claims }))).status;
    assert.equal(await statusOf({ permissions: ['run'] }), 200);
    for (const claims of [{ scp: ['run'] }, { scp: 'run', permissions: ['read'] }, { scope: 'run' }, {}])
      assert.equal(await statusOf(claims), 403, JSON.stringify(claims));
    await gateway.stop();
    await second.close();
  });

  test('the same subject of two issuers are two users', async () => {
    const second = await startIdentityProvider({ now: () => Date.UTC(2026, 0, 1) });
    const gateway = await startProtected({
      more: { extensions: { issuers: [{ issuer: second.issuer, ...ON_LOOPBACK }] } },
    });
    const session = await openSession(gateway.running.url, {}, bearer(await gateway.provider.token()));
    const as = async (token: string) => session.send({ jsonrpc: '2.0', id: 5, method: 'tools/list' }, bearer(token));
    assert.equal((await as(await second.token())).status, 404);
    assert.equal((await as(await gateway.provider.token())).status, 200);
    await gateway.stop();
    await second.close();
  });

  test('are no principals of the first issuer: policies and groups that name a subject mean the first one alone', async () => {
    const second = await startIdentityProvider({ now: () => Date.UTC(2026, 0, 1) });
    const listed = async (policies: readonly string[], who: (issuer: string) => object = () => []) => {
      const gateway = await startProtected({
        policies,
        entities: who(second.issuer),
        more: { extensions: { issuers: [{ issuer: second.issuer, ...ON_LOOPBACK }] } },
      });
      const namesFor = async (token: string) => (await openSession(gateway.running.url, {}, bearer(token))).toolNames();
      const like = `${second.issuer} alice`;
      const names = [
        await namesFor(await gateway.provider.token()),
        await namesFor(await second.token()),
        await namesFor(await gateway.provider.token({ sub: like })),
      ];
      await gateway.stop();
      return names.map(({ length }) => length);
    };
    assert.deepEqual(await listed(['permit(principal == Client::"alice", action, resource);']), [1, 0, 0]);
    const long = `permit(principal == Client::"${second.issuer} alice", action, resource);`;
    assert.deepEqual(await listed([long]), [0, 1, 0]);
    const inGroup = 'permit(principal in Group::"staff", action, resource);';
    const staff = (id: string) => [
      { uid: { type: 'Client', id }, attrs: {}, parents: [{ type: 'Group', id: 'staff' }] },
    ];
    assert.deepEqual(await listed([inGroup], () => staff('alice')), [1, 0, 0]);
    assert.deepEqual(await listed([inGroup], (issuer) => staff(`${issuer} alice`)), [0, 1, 0]);
    await second.close();
  });

  test('an issuer that is away takes no other with it', async () => {
    const second = await workload();
    const gateway = await startProtected({
      more: { extensions: { issuers: [{ issuer: second.issuer, ...ON_LOOPBACK }] } },
    });
    await second.close();
    assert.equal((await gateway.enter(await gateway.provider.token())).status, 200);
    await gateway.stop();
  });
});

suite('the user of the operating system', () => {
  covers('incoming-auth.config.type-local');
  test('is who calls over loopback', async () => {
    const backend = await startBackend();
    const running = await startRuntime(configFile({ a: backend.url }, { incomingAuth: { type: 'local' } }));
    const session = await openSession(running.url);
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    assert.notEqual(userInfo().username, '');
    await running.stop();
    await backend.close();
  });

  test('is not who calls from elsewhere: the server does not start on another address', async () => {
    const files = configFile({}, { incomingAuth: { type: 'local' } });
    await assert.rejects(
      startRuntime(files, { host: '0.0.0.0' }),
      /incomingAuth\.type: local is for clients on this machine/,
    );
    const running = await startRuntime(configFile({}), { host: '0.0.0.0' });
    const reloaded = running.reload(files);
    assert.equal(reloaded.ok, false);
    await running.stop();
  });

  test('nor a client that a trusted proxy names', async () => {
    const more = { incomingAuth: { type: 'local' }, extensions: { trustedProxies: ['127.0.0.1'] } };
    const running = await startRuntime(configFile({}, more));
    await assert.rejects(
      openSession(running.url, {}, { 'x-forwarded-for': '203.0.113.7' }).then(({ initialize }) => {
        if (initialize.status === 401) throw new Error('refused');
      }),
      /refused/,
    );
    await running.stop();
  });
});

suite('the configuration', () => {
  covers('incoming-auth.oidc.insecure-http-refused', 'incoming.inline-audience-optional');
  test('is refused with an issuer without TLS, without an audience, or with one issuer twice', async () => {
    const oidc = { issuer: 'https://idp.example', audience: 'x', clientId: 'x', issuerKeys: { keys: [] } };
    const started = (changed: object, more: object = {}) =>
      startRuntime(configFile({}, { incomingAuth: { type: 'oidc', oidc: { ...oidc, ...changed } }, ...more }));
    await assert.rejects(started({ issuer: 'http://idp.example' }), /an issuer without TLS is not allowed/);
    await assert.rejects(started({ audience: undefined }), /audience/);
    const twice = { extensions: { issuers: [{ issuer: 'https://idp.example' }] } };
    await assert.rejects(started({}, twice), /is that of incomingAuth.oidc/);
    const fixed = { extensions: { issuers: [{ issuer: 'https://b.example', claimMapping: { aud: 'x' } }] } };
    await assert.rejects(started({}, fixed), /are checked as the token has them; map other claims/);
    await assert.rejects(started({ resource: 'http://10.1.2.3' }), /a resource at a private address/);
    await (await started({ resource: 'http://10.1.2.3', protectedResourceAllowPrivateIp: true })).stop();
    await assert.rejects(started({ issuerKeys: { keys: 7 } }), /keys/);
  });
});
