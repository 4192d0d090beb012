import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type IdentityProvider, signed, signingKey } from '../../../fixtures/identity-provider.ts';
import { type ProtectedGateway, startProtected } from '../../../fixtures/protected-gateway.ts';
import { openSession, type RawAnswer } from '../../../fixtures/raw-client.ts';
import { covers } from '../../../requirements.ts';

suite('tokens of one issuer whose keys are in the configuration', () => {
  let gateway: ProtectedGateway;
  before(async () => {
    gateway = await startProtected();
  });
  after(() => gateway.stop());

  const entered = async (make: (provider: IdentityProvider) => Promise<string>): Promise<RawAnswer> =>
    gateway.enter(await make(gateway.provider));

  covers('incoming-auth.oidc', 'incoming-auth.config.type-oidc', 'incoming-auth.external-idp-without-auth-server');
  test('a valid token calls a tool, and without one nothing is called', async () => {
    const authorization = `Bearer ${await gateway.provider.token()}`;
    const session = await openSession(gateway.running.url, {}, { authorization });
    const { json } = await session.call('a_echo', { text: 'hello' });
    assert.ok((json as { result?: object }).result, JSON.stringify(json));
    const calls = gateway.backend.requests.length;
    const without = await session.send(
      { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'a_echo' } },
      { authorization: '' },
    );
    assert.equal(without.status, 401);
    assert.equal(gateway.backend.requests.length, calls);
  });

  test('nothing is fetched from an issuer whose keys are known', async () => {
    await entered((provider) => provider.token());
    await entered((provider) => provider.token({}, { header: { kid: 'unknown' } }));
    assert.deepEqual(gateway.provider.asked, []);
  });

  const ACCEPTED: readonly (readonly [string, (provider: IdentityProvider) => Promise<string>])[] = [
    ['one of several audiences', (provider) => provider.token({ aud: ['other', 'https://mcp.example'] })],
    ['typ at+jwt', (provider) => provider.token({}, { header: { typ: 'at+jwt' } })],
    ['typ application/at+jwt', (provider) => provider.token({}, { header: { typ: 'application/at+jwt' } })],
    ['typ JWT', (provider) => provider.token({}, { header: { typ: 'JWT' } })],
    ['no kid, where there is one key', (provider) => provider.token({}, { header: { kid: undefined } })],
    ['expired within the clock tolerance', (provider) => provider.token({}, { lifeSeconds: -29 })],
    ['not yet valid within the clock tolerance', (provider) => provider.token({ nbf: soon(29) })],
    ['a claim cnf that binds nothing', (provider) => provider.token({ cnf: { kid: 'x' } })],
  ];
  for (const [what, make] of ACCEPTED)
    test(`taken: ${what}`, async () => assert.equal((await entered(make)).status, 200));

  const soon = (seconds: number): number => Math.floor(gateway.clock.now() / 1_000) + seconds;

  covers('incoming.jwt.issuer', 'incoming.jwt.audience', 'incoming.jwt.expiry', 'incoming.jwt.signature');
  covers('incoming-auth.audience.enforced');
  const REFUSED: readonly (readonly [string, (provider: IdentityProvider) => Promise<string>, RegExp])[] = [
    ['another issuer', (provider) => provider.token({ iss: 'https://other.example' }), /another issuer/],
    [
      'the issuer with a slash behind it',
      (provider) => provider.token({ iss: `${provider.issuer}/` }),
      /another issuer/,
    ],
    ['no issuer', (provider) => provider.token({ iss: undefined }), /another issuer/],
    ['another audience', (provider) => provider.token({ aud: 'https://mcp.example.evil' }), /another audience/],
    ['the beginning of the audience', (provider) => provider.token({ aud: 'https://mcp.exam' }), /another audience/],
    ['no audience', (provider) => provider.token({ aud: undefined }), /another audience/],
    ['an empty list of audiences', (provider) => provider.token({ aud: [] }), /another audience/],
    ['an expired one', (provider) => provider.token({}, { lifeSeconds: -31 }), /has expired/],
    ['no expiry', (provider) => provider.token({ exp: undefined }), /when it expires/],
    ['an expiry that is no number', (provider) => provider.token({ exp: '9999999999' }), /./],
    ['one that is not valid yet', (provider) => provider.token({ nbf: soon(31) }), /not valid yet/],
    ['no subject', (provider) => provider.token({ sub: undefined }), /no subject/],
    ['an empty subject', (provider) => provider.token({ sub: '' }), /no subject/],
    ['a subject that is no text', (provider) => provider.token({ sub: 7 }), /no subject/],
    ['a subject without end', (provider) => provider.token({ sub: 'a'.repeat(1_025) }), /no subject/],
    [
      'the key of somebody else under the same id',
      async (provider) => provider.token({}, { key: await signingKey('key-1') }),
      /signature/,
    ],
    ['a key id that is not known', (provider) => provider.token({}, { header: { kid: 'key-9' } }), /does not publish/],
  ];
  for (const [what, make, description] of REFUSED)
    test(`refused: ${what}`, async () => {
      const { status, headers, json } = await entered(make);
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token", error_description="/);
      const body = json as Record<string, unknown>;
      assert.equal(body['error'], 'invalid_token');
      assert.match(String(body['error_description']), description);
    });
});

suite('every current asymmetric algorithm', () => {
  for (const alg of ['RS256', 'RS384', 'PS256', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'ML-DSA-44'])
    test(alg, async () => {
      const key = await signingKey('the-key', alg);
      const gateway = await startProtected({ oidc: { issuerKeys: { keys: [key.publicJwk] } } });
      assert.equal((await gateway.enter(await gateway.provider.token({}, { key }))).status, 200);
      await gateway.stop();
    });

  test('of several keys without ids the one that signed is found', async () => {
    const keys = await Promise.all(['1', '2', '3'].map((kid) => signingKey(kid)));
    const published = keys.map(({ publicJwk: { kid: _kid, ...jwk } }) => jwk);
    const gateway = await startProtected({ oidc: { issuerKeys: { keys: published } } });
    for (const key of keys) {
      const token = await gateway.provider.token({}, { key, header: { kid: undefined } });
      assert.equal((await gateway.enter(token)).status, 200);
    }
    const stranger = await gateway.provider.token({}, { key: await signingKey('4'), header: { kid: undefined } });
    assert.equal((await gateway.enter(stranger)).status, 401);
    await gateway.stop();
  });

  test('a key for another algorithm, or for encryption, verifies nothing', async () => {
    const key = await signingKey('key', 'RS256');
    for (const changed of [{ alg: 'PS256' }, { use: 'enc' }, { key_ops: ['encrypt'] }]) {
      const gateway = await startProtected({ oidc: { issuerKeys: { keys: [{ ...key.publicJwk, ...changed }] } } });
      assert.equal((await gateway.enter(await gateway.provider.token({}, { key }))).status, 401);
      await gateway.stop();
    }
  });
});

suite('scopes', () => {
  covers('incoming-auth.oidc.scopes-required');
  test('a token needs all of them, as scope or as scp; else 403 names them all', async () => {
    const gateway = await startProtected({
      oidc: (provider) => ({ issuerKeys: { keys: [provider.key().publicJwk] }, scopes: ['mcp:read', 'mcp:call'] }),
    });
    const enter = async (claims: object) => gateway.enter(await gateway.provider.token({ ...claims }));
    assert.equal((await enter({ scope: 'mcp:call openid mcp:read' })).status, 200);
    assert.equal((await enter({ scp: ['mcp:call', 'mcp:read'] })).status, 200);
    assert.equal((await enter({ scp: 'mcp:call mcp:read' })).status, 200);
    for (const claims of [{}, { scope: 'mcp:read' }, { scope: 'mcp:read,mcp:call' }, { scope: { 'mcp:read': 1 } }]) {
      const { status, headers, json } = await enter(claims);
      assert.equal(status, 403);
      const challenge = headers.get('www-authenticate') ?? '';
      assert.match(challenge, /error="insufficient_scope"/);
      assert.match(challenge, /scope="mcp:read mcp:call"/);
      assert.match(challenge, /resource_metadata="/);
      assert.equal((json as Record<string, unknown>)['error'], 'insufficient_scope');
    }
    await gateway.stop();
  });
});

suite('kinds of tokens', () => {
  const KINDS: readonly (readonly [string, object, object])[] = [
    ['an ID token', { at_hash: 'x', nonce: 'y' }, {}],
    ['an ID token of Keycloak', { typ: 'ID' }, {}],
    ['a refresh token of Keycloak', { typ: 'Refresh' }, {}],
    ['a logout token', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }, { typ: 'logout+jwt' }],
    ['a security event', {}, { typ: 'secevent+jwt' }],
    ['an assertion for another grant', {}, { typ: 'oauth-id-jag+jwt' }],
    ['a proof of a key', {}, { typ: 'dpop+jwt' }],
    ['a token that is bound to a key', { cnf: { jkt: 'x' } }, {}],
    ['a token that is bound to a certificate', { cnf: { 'x5t#S256': 'x' } }, {}],
  ];
  test('what is no access token for a Bearer header is refused, though its signature is good', async () => {
    const gateway = await startProtected();
    for (const [what, claims, header] of KINDS) {
      const token = await gateway.provider.token({ ...claims }, { header: { ...header } });
      assert.equal((await gateway.enter(token)).status, 401, what);
    }
    await gateway.stop();
  });

  test('a token of an issuer whose own key is not known is never verified by a key that it brings along', async () => {
    const gateway = await startProtected();
    const stranger = await signingKey('key-1');
    const claims = { iss: gateway.provider.issuer, aud: 'https://mcp.example', sub: 'mallory', exp: 99_999_999_999 };
    const url = `${gateway.provider.origin}/evil`;
    for (const header of [{ jwk: stranger.publicJwk }, { jku: url }, { x5u: url }, { x5c: ['MIIB'] }])
      assert.equal((await gateway.enter(await signed(claims, stranger, header))).status, 401, JSON.stringify(header));
    assert.deepEqual(gateway.provider.asked, []);
    await gateway.stop();
  });
});
