import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { MAX_REGISTRATION_BYTES } from '../../../../runtime/auth-server/clients/registration.ts';
import { secretOf, sealing, startClients, SUPPORTED } from '../../../fixtures/oauth-clients.ts';

const LOCAL = { redirect_uris: ['http://localhost:3118/callback'] };

const send = (body: string | Buffer, contentType: string | undefined = 'application/json') =>
  startClients().register({ contentType, body: Buffer.from(body), address: '192.0.2.1' });

describe('a registration', () => {
  test('is answered with 201, an id and what was registered, and is kept by nobody on the way', async () => {
    const { status, headers, ...client } = await startClients().registered({
      ...LOCAL,
      client_name: 'Agent',
      scope: 'openid files.read',
    });
    assert.equal(status, 201);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['content-type'], 'application/json');
    const { client_id: id, ...rest } = client;
    assert.match(id, /^c1-/);
    assert.deepEqual(rest, {
      client_id_issued_at: Date.UTC(2026, 0, 1) / 1000,
      client_name: 'Agent',
      redirect_uris: LOCAL.redirect_uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      scope: 'openid files.read',
    });
  });

  test('is found again by its id, on any replica with the secret, with nothing stored', async () => {
    const { status: _status, headers: _headers, ...client } = await startClients().registered(LOCAL);
    assert.deepEqual(await startClients().findClient(client.client_id), client);
  });

  test('of a client that asks for a secret gets one that does not expire', async () => {
    for (const method of ['client_secret_basic', 'client_secret_post']) {
      const client = await startClients().registered({ ...LOCAL, token_endpoint_auth_method: method });
      assert.equal(client.token_endpoint_auth_method, method);
      assert.equal(client['client_secret_expires_at'], 0);
      assert.match(client.client_secret ?? '', /^[A-Za-z0-9_-]{43}$/);
      const found = await startClients(sealing(secretOf('second'), secretOf('first'))).findClient(client.client_id);
      assert.equal(found?.client_secret, client.client_secret);
    }
  });

  test('ignores members that it does not know, and what may not be chosen', async () => {
    const client = await startClients().registered({
      ...LOCAL,
      client_id: 'mine',
      client_secret: 'mine',
      client_id_issued_at: 1,
      logo_uri: 'javascript:alert(1)',
      jwks: 'nonsense',
      nested: { far: [{ away: {} }] },
      'client_name#de': 7,
    });
    assert.equal(client.status, 201);
    assert.notEqual(client.client_id, 'mine');
    assert.equal(client.client_secret, undefined);
    assert.equal(client['logo_uri'], undefined);
  });

  test('leaves out grants and responses beyond the code flow', async () => {
    const client = await startClients().registered({
      ...LOCAL,
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'token'],
    });
    assert.deepEqual(client.grant_types, ['authorization_code', 'refresh_token']);
    assert.deepEqual(client['response_types'], ['code']);
  });

  test('without refresh_token among its grants gets no refresh tokens', async () => {
    const client = await startClients().registered({ ...LOCAL, grant_types: ['authorization_code'] });
    assert.deepEqual(client.grant_types, ['authorization_code']);
  });

  test('names each redirect URI once', async () => {
    const [uri] = LOCAL.redirect_uris;
    assert.deepEqual((await startClients().registered({ redirect_uris: [uri, uri] })).redirect_uris, [uri]);
  });

  test('keeps a name that is one line and reads as it is written', async () => {
    const nameOf = async (name: string) =>
      (await startClients().registered({ ...LOCAL, client_name: name })).client_name;
    assert.equal(await nameOf(' Claude\u202Eedoc\u0000\r\n<b>\u2028 '), 'Claudeedoc <b>');
    assert.equal(await nameOf('\u200B\u2060\uFE0F'), undefined);
    assert.equal(Array.from((await nameOf('😀'.repeat(500))) ?? '').length, 100);
  });
});

describe('the scope of a client', () => {
  test('is all that are supported where it names none', async () => {
    for (const scope of [undefined, '', '  '])
      assert.equal((await startClients().registered({ ...LOCAL, scope })).scope, SUPPORTED.join(' '));
  });

  test('loses scopes that are not supported', async () => {
    assert.equal(
      (await startClients().registered({ ...LOCAL, scope: 'mcp:all  openid files.read' })).scope,
      'openid files.read',
    );
  });

  test('has the baseline whatever the client names', async () => {
    const scopes = () => ({ supported: SUPPORTED, baseline: ['openid', 'offline_access'] });
    const { scope } = await startClients({ scopes }).registered({ ...LOCAL, scope: 'files.read' });
    assert.equal(scope, 'files.read openid offline_access');
  });

  test('is made anew whenever it is read, so that a baseline holds for clients from before', async () => {
    const { client_id } = await startClients().registered({ ...LOCAL, scope: 'files.read' });
    const later = async (supported: readonly string[], baseline: readonly string[]) =>
      (await startClients({ scopes: () => ({ supported, baseline }) }).findClient(client_id))?.scope;
    assert.equal(await later(SUPPORTED, ['openid', 'email']), 'files.read openid email');
    assert.equal(await later(SUPPORTED, []), 'files.read');
    assert.equal(await later(['openid', 'email'], ['email']), 'email');
  });

  test('never is empty, which would mean any', async () => {
    const scopes = () => ({ supported: SUPPORTED, baseline: [] });
    assert.equal((await startClients({ scopes }).registered({ ...LOCAL, scope: 'mcp:all' })).scope, 'openid');
  });
});

describe('a registration is refused', () => {
  const refused: readonly (readonly [string, object, error: string, reason: RegExp])[] = [
    ['without redirect URIs', {}, 'invalid_redirect_uri', /at least one/],
    ['with none of them', { redirect_uris: [] }, 'invalid_redirect_uri', /at least one/],
    [
      'with one bad among good ones',
      { redirect_uris: [...LOCAL.redirect_uris, 'javascript:x'] },
      'invalid_redirect_uri',
      /javascript:/,
    ],
    [
      'with 17 of them',
      { redirect_uris: Array.from({ length: 17 }, (_, n) => `https://h${n}.example/`) },
      'invalid_redirect_uri',
      /more than 16/,
    ],
    ['with numbers among them', { redirect_uris: [7] }, 'invalid_client_metadata', /redirect_uris is not of the type/],
    [
      'with a text in place of the list',
      { redirect_uris: 'https://h.example/' },
      'invalid_client_metadata',
      /redirect_uris/,
    ],
    ['with a name that is no text', { ...LOCAL, client_name: {} }, 'invalid_client_metadata', /client_name/],
    ['with scopes in a list', { ...LOCAL, scope: ['openid'] }, 'invalid_client_metadata', /scope/],
    ['with scopes that are none', { ...LOCAL, scope: 'a"b' }, 'invalid_client_metadata', /RFC 6749 §3\.3/],
    [
      'with too many scopes',
      { ...LOCAL, scope: Array.from({ length: 257 }, (_, n) => n).join(' ') },
      'invalid_client_metadata',
      /256/,
    ],
    [
      'for other grants alone',
      { ...LOCAL, grant_types: ['client_credentials'] },
      'invalid_client_metadata',
      /authorization_code/,
    ],
    ['for other responses alone', { ...LOCAL, response_types: ['token'] }, 'invalid_client_metadata', /code/],
    [
      'with keys, which nobody has checked',
      { ...LOCAL, token_endpoint_auth_method: 'private_key_jwt' },
      'invalid_client_metadata',
      /one of none, client_secret_basic, client_secret_post/,
    ],
    [
      'when its id would be too long',
      {
        redirect_uris: Array.from(
          { length: 16 },
          (_, n) =>
            `https://h.example/${secretOf(`${n}`).toString('base64url')}${secretOf(`+${n}`).toString('base64url')}`,
        ),
        client_name: 'x',
      },
      'invalid_client_metadata',
      /longer than 2000 characters.*redirect_uris/,
    ],
  ];
  for (const [what, metadata, error, reason] of refused) {
    test(what, async () => {
      const answer = await startClients().registered(metadata);
      assert.equal(answer.status, 400);
      assert.equal(answer.error, error);
      assert.match(answer.error_description ?? '', reason);
      assert.equal(answer.headers['cache-control'], 'no-store');
    });
  }

  const bodies: readonly (readonly [string, string | Buffer])[] = [
    ['that is no JSON', 'redirect_uris=https://h.example/'],
    ['that is empty', ''],
    ['that is a list', '[]'],
    ['that is null', 'null'],
    ['with a member twice', '{"redirect_uris":["https://a.example/"],"redirect_\\u0075ris":["https://b.example/"]}'],
    ['nested deeply', `{"redirect_uris":["https://a.example/"],"x":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['with text after it', `${JSON.stringify(LOCAL)} {}`],
  ];
  for (const [what, body] of bodies) {
    test(`with a body ${what}`, async () => {
      const answer = await send(body);
      assert.equal(answer.status, 400);
      assert.equal(JSON.parse(answer.body).error, 'invalid_client_metadata');
    });
  }

  test('with a body of another type, or one that is too long', async () => {
    const body = JSON.stringify(LOCAL);
    for (const type of [undefined, '', 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])
      assert.equal(
        (await startClients().register({ contentType: type, body: Buffer.from(body), address: undefined })).status,
        415,
      );
    assert.equal((await send(body, 'Application/JSON; charset=utf-8')).status, 201);
    assert.equal((await send(body.padEnd(MAX_REGISTRATION_BYTES + 1))).status, 413);
    assert.equal((await send(body.padEnd(MAX_REGISTRATION_BYTES))).status, 201);
  });

  test('while its address registers too often, and only that one', async () => {
    const { register } = startClients({ waitMs: async (address) => (address === '192.0.2.7' ? 1_500 : 0) });
    const body = Buffer.from(JSON.stringify(LOCAL));
    const answer = await register({ contentType: 'application/json', body, address: '192.0.2.7' });
    assert.equal(answer.status, 429);
    assert.equal(answer.headers['retry-after'], '2');
    assert.equal((await register({ contentType: 'application/json', body, address: '192.0.2.8' })).status, 201);
  });

  test('with a reason that repeats nothing of what was sent', async () => {
    const { body } = await send(JSON.stringify({ redirect_uris: ['ftp://secret/<script>'] }));
    assert.doesNotMatch(body, /secret|<|ftp:\/\//);
  });
});

test('whatever is registered is answered, and its client is found again as it was answered', async () => {
  const uri = fc.oneof(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string(),
    fc.constantFrom('http://localhost:1/', 'a.b:/c'),
  );
  const metadata = fc.record(
    {
      redirect_uris: fc.oneof(fc.array(uri, { maxLength: 20 }), fc.anything()),
      client_name: fc.oneof(fc.string({ unit: 'binary' }), fc.anything()),
      scope: fc.oneof(fc.string(), fc.constantFrom('openid', 'openid files.read')),
      token_endpoint_auth_method: fc.constantFrom('none', 'client_secret_post', 'other'),
      grant_types: fc.oneof(fc.constant(['authorization_code']), fc.anything()),
    },
    { requiredKeys: ['redirect_uris'] },
  );
  const started = startClients();
  await fc.assert(
    fc.asyncProperty(metadata, async (sent) => {
      const { status, headers: _headers, ...answer } = await started.registered(sent);
      assert.ok(status === 201 || status === 400, String(status));
      if (status === 201) assert.deepEqual(await started.findClient(answer.client_id), answer);
      else assert.ok((answer.error_description ?? '').length > 10);
    }),
    { numRuns: 300 },
  );
});

test('an id that was never given out belongs to no client', async () => {
  for (const id of ['', 'c1-', 'anything', 'http://localhost/client', `c1-${'A'.repeat(200)}`])
    assert.equal(await startClients().findClient(id), undefined, id);
});
