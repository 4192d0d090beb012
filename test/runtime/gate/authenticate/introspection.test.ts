import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { REFUSED_MS, VALID_MS } from '../../../../runtime/gate/authenticate/token-cache.ts';
import type { Caller } from '../../../../runtime/call/index.ts';
import { count } from '../../../fixtures/backend.ts';
import { AUDIENCE, INTROSPECTION_PATH, JWKS_PATH, sendJson } from '../../../fixtures/identity-provider.ts';
import { type ProtectedGateway, type ProtectedOptions, startProtected } from '../../../fixtures/protected-gateway.ts';
import { openSession, post } from '../../../fixtures/raw-client.ts';
import { covers } from '../../../requirements.ts';
import { LIMITS } from '../../../../runtime/limits.ts';

const SECRET = 's3cr3t:/ü';

const environment = (name: string): string | undefined => (name === 'CLIENT_SECRET' ? SECRET : undefined);

const started = (more: Partial<ProtectedOptions> = {}): Promise<ProtectedGateway> =>
  startProtected({
    oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretEnv: 'CLIENT_SECRET' }),
    ...more,
    deps: { environment, ...more.deps },
  });

const seconds = ({ clock }: ProtectedGateway, more: number): number => Math.floor(clock.now() / 1_000) + more;

suite('opaque tokens', () => {
  covers(
    'incoming.opaque.introspected',
    'incoming-auth.oidc.introspection-url',
    'incoming-auth.oidc.client-secret-env',
  );
  test('are shown to the issuer, once, by a client that proves who it is', async () => {
    const gateway = await started();
    gateway.provider.opaque.set('opaque-1', { active: true, aud: AUDIENCE, sub: 'alice', exp: seconds(gateway, 600) });
    for (let i = 0; i < 3; i += 1) assert.equal((await gateway.enter('opaque-1')).status, 200);
    const asked = gateway.provider.asked.filter(({ path }) => path === INTROSPECTION_PATH);
    assert.equal(asked.length, 1);
    assert.deepEqual(
      [...new URLSearchParams(asked[0]?.body)],
      [
        ['token', 'opaque-1'],
        ['token_type_hint', 'access_token'],
      ],
    );
    await gateway.stop();
  });

  covers('incoming.opaque.inactive', 'incoming-auth.oidc.introspection-inactive');
  test('that are not active are refused, and reach no backend', async () => {
    const gateway = await started();
    gateway.provider.opaque.set('ended', { active: false });
    gateway.provider.opaque.set('odd', { active: 'true', aud: AUDIENCE, sub: 'alice' });
    for (const token of ['ended', 'odd', 'unheard-of']) {
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a_echo' } };
      const { status, headers } = await post(gateway.running.url, call, { authorization: `Bearer ${token}` });
      assert.equal(status, 401);
      assert.match(
        headers.get('www-authenticate') ?? '',
        /error="invalid_token", error_description="the token is not active"/,
      );
    }
    assert.equal(count(gateway.backend, 'tools/call'), 0);
    await gateway.stop();
  });

  const WRONG: readonly (readonly [string, (gateway: ProtectedGateway) => object])[] = [
    ['of another issuer', () => ({ iss: 'https://other.example' })],
    ['for another audience', () => ({ aud: ['x'] })],
    ['for no audience', () => ({ aud: undefined })],
    ['expired', (gateway) => ({ exp: seconds(gateway, -31) })],
    ['with an expiry that is no number', () => ({ exp: 'tomorrow' })],
    ['not valid yet', (gateway) => ({ nbf: seconds(gateway, 60) })],
    ['of nobody', () => ({ sub: undefined })],
    ['of nobody, with a client that is none', () => ({ sub: undefined, client_id: '' })],
    ['of a user whom only a name for people tells', () => ({ sub: undefined, client_id: 'app', username: 'Alice' })],
    ['of a user named null', () => ({ sub: null, client_id: 'app' })],
    ['of a user who is named like a client without one', () => ({ sub: 'client_id:app' })],
    ['bound to a key', () => ({ cnf: { jkt: 'x' } })],
  ];
  test('that are active and not for here are refused', async () => {
    const gateway = await started();
    for (const [what, wrong] of WRONG) {
      gateway.provider.opaque.set(what.replaceAll(' ', '-'), {
        active: true,
        aud: AUDIENCE,
        sub: 'alice',
        ...wrong(gateway),
      });
      assert.equal((await gateway.enter(what.replaceAll(' ', '-'))).status, 401, what);
    }
    await gateway.stop();
  });

  test('need the required scopes, too', async () => {
    const gateway = await started({
      oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretEnv: 'CLIENT_SECRET', scopes: ['mcp'] }),
    });
    gateway.provider.opaque.set('with', { active: true, aud: AUDIENCE, sub: 'alice', scope: 'a mcp' });
    gateway.provider.opaque.set('without', { active: true, aud: AUDIENCE, sub: 'alice', scope: 'a' });
    assert.equal((await gateway.enter('with')).status, 200);
    assert.equal((await gateway.enter('without')).status, 403);
    await gateway.stop();
  });

  covers('incoming-auth.oidc.introspection-absent', 'incoming.opaque.needs-client-secret');
  test('are refused where there is neither an address nor a client secret, and nobody is asked', async () => {
    const gateway = await startProtected({ oidc: {} });
    gateway.provider.opaque.set('opaque', { active: true, aud: AUDIENCE, sub: 'alice' });
    const { status, headers } = await gateway.enter('opaque');
    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate') ?? '', /opaque tokens are not taken here/);
    assert.equal(gateway.provider.count(INTROSPECTION_PATH), 0);
    await gateway.stop();
  });

  covers('oidcconfig.inline.client-secret-enables-introspection');
  test('with a client secret the address comes from the metadata of the issuer', async () => {
    const gateway = await started({ oidc: { clientSecretEnv: 'CLIENT_SECRET' } });
    gateway.provider.opaque.set('opaque', { active: true, aud: AUDIENCE, sub: 'alice' });
    assert.equal((await gateway.enter('opaque')).status, 200);
    await gateway.stop();
  });

  test('of a client without a user are not those of the user whose subject is its id', async () => {
    const gateway = await started({
      policies: ['permit(principal == Client::"alice", action, resource) when { principal.claim_sub == "alice" };'],
    });
    const { provider, running } = gateway;
    provider.opaque.set('of-user', { active: true, aud: AUDIENCE, sub: 'alice', client_id: 'app' });
    provider.opaque.set('of-client', { active: true, aud: AUDIENCE, client_id: 'alice' });
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const ofUser = await openSession(running.url, {}, bearer('of-user'));
    assert.deepEqual(await ofUser.toolNames(), ['a_echo']);
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    assert.equal((await ofUser.send(list, bearer('of-client'))).status, 404, 'the session is of the user');
    const ofClient = await openSession(running.url, {}, bearer('of-client'));
    assert.deepEqual(await ofClient.toolNames(), [], 'the policies permit the user');
    await gateway.stop();
  });

  test('of a client without a user are known to policies by its id', async () => {
    const gateway = await started({
      policies: [
        'permit(principal == Client::"client_id:job", action, resource) when { principal.claim_client_id == "job" };',
      ],
    });
    gateway.provider.opaque.set('of-client', { active: true, aud: AUDIENCE, client_id: 'job' });
    const session = await openSession(gateway.running.url, {}, { authorization: 'Bearer of-client' });
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    await gateway.stop();
  });

  test('a JWT is never shown to the issuer, nor one of another issuer to this one', async () => {
    const gateway = await started();
    const { provider } = gateway;
    for (const token of [
      await provider.token(),
      await provider.token({ iss: 'https://other.example' }),
      await provider.token({ aud: 'x' }),
    ])
      await gateway.enter(token);
    assert.equal(provider.count(INTROSPECTION_PATH), 0);
    assert.equal(provider.count(JWKS_PATH), 1);
    await gateway.stop();
  });
});

suite('when the issuer does not answer as it should', () => {
  test('strangers neither ask it without end nor fill the log', async () => {
    const gateway = await started();
    gateway.provider.instead.set(INTROSPECTION_PATH, (_q, response) => sendJson(response, 500, {}));
    for (let i = 0; i < LIMITS.refusedTokens.burst + 100; i += 50)
      await Promise.all(Array.from({ length: 50 }, (_, j) => gateway.enter(`opaque-${i + j}`)));
    assert.equal(gateway.provider.count(INTROSPECTION_PATH), LIMITS.refusedTokens.burst);
    const warnings = gateway.lines.filter(({ message }) => message === 'opaque tokens cannot be checked');
    assert.equal(warnings.length, 10);
    await gateway.stop();
  });

  const FAULTS: readonly (readonly [string, (gateway: ProtectedGateway) => void])[] = [
    ['it is away', ({ provider }) => provider.beAway(true)],
    [
      'HTTP 500',
      ({ provider }) => void provider.instead.set(INTROSPECTION_PATH, (_q, response) => sendJson(response, 500, {})),
    ],
    [
      'HTTP 404',
      ({ provider }) => void provider.instead.set(INTROSPECTION_PATH, (_q, response) => sendJson(response, 404, {})),
    ],
    [
      'no JSON',
      ({ provider }) => void provider.instead.set(INTROSPECTION_PATH, (_q, response) => response.end('active')),
    ],
    [
      'a redirect',
      ({ provider }) =>
        void provider.instead.set(INTROSPECTION_PATH, (_q, response) =>
          response.writeHead(307, { location: '/elsewhere' }).end(),
        ),
    ],
    ['our client is not accepted', ({ provider }) => void (provider.client.secret = 'another')],
  ];
  for (const [what, fault] of FAULTS)
    test(`${what}: 503, and the token is taken once it does`, async () => {
      const gateway = await started();
      const { provider } = gateway;
      const answer = { active: true, aud: AUDIENCE, sub: 'alice' };
      provider.opaque.set('opaque', answer);
      await gateway.enter(await provider.token());
      fault(gateway);
      const { status, headers, json } = await gateway.enter('opaque');
      assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
      assert.equal((json as Record<string, unknown>)['error'], 'issuer_unavailable');
      assert.equal(provider.count('/elsewhere'), 0);
      const warnings = gateway.lines.filter(({ message }) => message === 'opaque tokens cannot be checked');
      assert.equal(warnings.length, 1);
      assert.doesNotMatch(JSON.stringify(gateway.lines), /s3cr3t|"opaque"/);
      provider.beAway(false);
      provider.instead.clear();
      provider.client.secret = SECRET;
      assert.equal((await gateway.enter('opaque')).status, 200);
      await gateway.stop();
    });

  test('a secret that cannot be read is no reason to ask without one', async () => {
    const gateway = await startProtected({
      oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretEnv: 'MISSING' }),
      deps: { environment },
    });
    assert.equal((await gateway.enter('opaque')).status, 503);
    assert.equal(gateway.provider.count(INTROSPECTION_PATH), 0);
    await gateway.stop();
  });
});

test('a secret in a file rotates without a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secret-'));
  const clientSecretFile = join(folder, 'secret');
  await writeFile(clientSecretFile, `${SECRET}\n`);
  const gateway = await startProtected({ oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretFile }) });
  const { provider } = gateway;
  const answer = { active: true, aud: AUDIENCE, sub: 'alice' };
  for (const token of ['one', 'two', 'three']) provider.opaque.set(token, answer);
  assert.equal((await gateway.enter('one')).status, 200);
  provider.client.secret = 'newer';
  assert.equal((await gateway.enter('two')).status, 503);
  await writeFile(clientSecretFile, 'newer');
  assert.equal((await gateway.enter('three')).status, 200);
  await gateway.stop();
  await rm(folder, { recursive: true });
});

suite('answers are kept for a short time', () => {
  test('a revoked token is taken no longer than that, an expired one not even so long', async () => {
    const gateway = await started();
    const { provider, clock } = gateway;
    provider.opaque.set('revoked', { active: true, aud: AUDIENCE, sub: 'alice' });
    provider.opaque.set('short', { active: true, aud: AUDIENCE, sub: 'alice', exp: seconds(gateway, -20) });
    assert.equal((await gateway.enter('revoked')).status, 200);
    assert.equal((await gateway.enter('short')).status, 200);
    provider.opaque.clear();
    clock.advance(10_000);
    assert.equal((await gateway.enter('short')).status, 401);
    clock.advance(VALID_MS - 10_001);
    assert.equal((await gateway.enter('revoked')).status, 200);
    clock.advance(1);
    assert.equal((await gateway.enter('revoked')).status, 401);
    await gateway.stop();
  });

  test('a revoked token that is presented again is known as such to what was begun with it', async () => {
    const callers: Caller[] = [];
    const gateway = await started({
      deps: {
        environment,
        features: () => ({
          observers: [
            {
              audit: async (record, next) => {
                const reply = await next();
                if (record.caller) callers.push(record.caller);
                return reply;
              },
            },
          ],
        }),
      },
    });
    const { provider, clock } = gateway;
    const exp = seconds(gateway, 3_600);
    provider.opaque.set('revoked', { active: true, aud: AUDIENCE, sub: 'alice', exp });
    provider.opaque.set('other', { active: true, aud: AUDIENCE, sub: 'alice', exp });
    for (const token of ['revoked', 'other']) assert.equal((await gateway.enter(token)).status, 200);
    clock.advance(VALID_MS);
    assert.equal((await gateway.enter('revoked')).status, 200, 'checked again');
    const withdrawn = () => callers.map((caller) => caller.kind === 'user' && caller.isWithdrawn?.());
    assert.deepEqual(withdrawn(), [false, false, false]);
    provider.opaque.delete('revoked');
    clock.advance(VALID_MS);
    assert.equal((await gateway.enter('revoked')).status, 401);
    assert.deepEqual(withdrawn(), [true, false, true]);
    await gateway.stop();
  });

  test('a refused token is not shown again at once, and may become valid', async () => {
    const gateway = await started();
    const { provider, clock } = gateway;
    for (let i = 0; i < 5; i += 1) assert.equal((await gateway.enter('later')).status, 401);
    assert.equal(provider.count(INTROSPECTION_PATH), 1);
    provider.opaque.set('later', { active: true, aud: AUDIENCE, sub: 'alice' });
    clock.advance(REFUSED_MS);
    assert.equal((await gateway.enter('later')).status, 200);
    await gateway.stop();
  });

  test('requests with one token at one time ask once', async () => {
    const gateway = await started();
    const { provider } = gateway;
    provider.opaque.set('shared', { active: true, aud: AUDIENCE, sub: 'alice' });
    const held = Promise.withResolvers<void>();
    provider.hold = held.promise;
    const answers = Promise.all(Array.from({ length: 10 }, () => gateway.enter('shared')));
    await new Promise((resolve) => setTimeout(resolve, 50));
    held.resolve();
    assert.deepEqual([...new Set((await answers).map(({ status }) => status))], [200]);
    assert.equal(provider.count(INTROSPECTION_PATH), 1);
    await gateway.stop();
  });
});
