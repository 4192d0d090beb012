import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, test } from 'node:test';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Agent } from 'undici';
import { type AuthServerGateway, startAuthServer } from '../../../fixtures/auth-server.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { type PlainServer, startPlainServer } from '../../../fixtures/plain-server.ts';
import { clientAt, codeIn, REDIRECT, type TestClient, textIn } from '../../../fixtures/signing-in.ts';
import { holdAllFetches } from './held-fetches.ts';

describe('a client that publishes a metadata document', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  let site: PlainServer;
  let client: TestClient;
  let clients = 0;
  before(async () => {
    gateway = await startAuthServer({ areStrangersHere: true });
    const { keyFile, certificateFile } = gateway.certificates;
    const [key, cert] = await Promise.all([keyFile, certificateFile].map((file) => readFile(file, 'utf8')));
    site = await startPlainServer({ key: key ?? '', cert: cert ?? '' });
  });
  after(async () => {
    await gateway.stop();
    await site.close();
  });
  beforeEach(() => {
    clients += 1;
    client = clientAt(gateway, { client_id: `${site.origin}/client-${clients}.json` });
    const document = { client_id: client.id, client_name: 'Published', redirect_uris: [REDIRECT] };
    answer(200, JSON.stringify({ ...document, token_endpoint_auth_method: 'none' }));
  });

  const answer = (status: number, body: string): void =>
    site.answer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
  /** With scopes, and without: then those of the client have to be known before anything else. */
  const asked = [{ scope: 'openid' }, {}];

  test('signs its user in, who is told where it is published, and refreshes', async () => {
    const page = await gateway.browser().open(client.authorizationUrl());
    assert.ok(page.text.includes(new URL(site.origin).host), page.text);
    const tokens = await client.tokens();
    assert.equal(decodeJwt(textIn(tokens, 'access_token'))['client_id'], client.id);
    assert.equal((await client.refresh(textIn(tokens, 'refresh_token'))).status, 200);
    assert.equal(site.requests.filter(({ request }) => request.url === new URL(client.id).pathname).length, 1);
  });

  test('stays known over a change of settings, after which the window of its refresh token has not begun anew', async () => {
    const tokens = await client.tokens();
    const first = textIn(tokens, 'refresh_token');
    const second = textIn(await client.refresh(first), 'refresh_token');
    const asked = site.requests.length;
    const providers = gateway.providers.map(
      (provider) => provider.askedFor('/.well-known/openid-configuration').length,
    );
    gateway.later(20_000);
    const tokenLifespans = { accessTokenLifespan: '30m' };
    assert.deepEqual(gateway.running().reload(gateway.file({ authServer: { tokenLifespans } })), { ok: true });
    answer(503, '');
    assert.equal((await client.refresh(second)).status, 200);
    assert.equal((await client.refresh(first)).body['error'], 'invalid_grant');
    await client.signIn();
    assert.equal(site.requests.length, asked);
    const discovered = gateway.providers.map(
      (provider) => provider.askedFor('/.well-known/openid-configuration').length,
    );
    assert.deepEqual(discovered, providers);
  });

  test('proves itself by a key that it publishes, and each proof counts once', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'a', use: 'sig' }] };
    const document = { client_id: client.id, redirect_uris: [REDIRECT], jwks };
    answer(200, JSON.stringify({ ...document, token_endpoint_auth_method: 'private_key_jwt' }));
    const proof = async (audience: string) => ({
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await new SignJWT({ iss: client.id, sub: client.id, aud: audience, jti: audience })
        .setProtectedHeader({ alg: 'ES256', kid: 'a' })
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign(privateKey),
    });
    const redeemed = async (proven: Readonly<Record<string, string>>) =>
      (await client.redeem(codeIn(await client.signIn()), proven)).status;
    const good = await proof(gateway.issuer);
    assert.equal(await redeemed(good), 200);
    for (const bad of [good, {}, await proof('https://other.example')]) assert.equal(await redeemed(bad), 401);
  });

  test('has its document fetched anew while strangers at many addresses keep all fetches waiting', async () => {
    const { keyFile, certificateFile } = gateway.certificates;
    const [key = '', cert = ''] = await Promise.all([keyFile, certificateFile].map((file) => readFile(file, 'utf8')));
    const slow = await Promise.all([1, 2, 3, 4].map(() => startPlainServer({ key, cert })));
    const agents = [1, 2, 3, 4, 5].map((n) => new Agent({ localAddress: `127.9.9.${n}` }));
    try {
      const refreshToken = textIn(await client.tokens(), 'refresh_token');
      const areRefused = await holdAllFetches(gateway, slow, agents);
      gateway.later(61_000);
      assert.equal((await client.refresh(refreshToken)).status, 200);
      const asked = site.requests.filter(({ request: { url } }) => url === new URL(client.id).pathname);
      assert.equal(asked.length, 2);
      await areRefused();
    } finally {
      await Promise.all([...slow, ...agents].map((each) => each.close()));
    }
  });

  test('that cannot be reached is no failure of this server: a page says so, and the token endpoint 503', async () => {
    answer(502, 'away');
    for (const parameters of asked) {
      const page = await gateway.browser().open(client.authorizationUrl(parameters));
      assert.equal(page.status, 503);
      assert.equal(page.headers?.get('retry-after'), '10', 'for so long the document is not asked for');
      assert.match(page.text, /cannot be checked at the moment/);
    }
    const { status, body, headers } = await client.refresh('any');
    assert.deepEqual([status, body['error']], [503, 'temporarily_unavailable']);
    assert.equal(headers.get('retry-after'), '10');
    assert.deepEqual(failures(), []);
  });

  test('whose document is none is unknown, and the page says why', async () => {
    answer(200, JSON.stringify({ client_id: `${client.id}x`, redirect_uris: [REDIRECT] }));
    for (const parameters of asked) {
      const page = await gateway.browser().open(client.authorizationUrl(parameters));
      assert.equal(page.status, 400);
      assert.match(page.text, /not known here/);
      assert.match(page.text, /its client_id is not the URL/);
    }
    assert.deepEqual(failures(), []);
  });

  test('whose document is gone while its user decides gets nothing', async () => {
    const browser = gateway.browser();
    const { url } = await browser.open(client.authorizationUrl());
    answer(404, '');
    // For a minute it is used as it was, and for five more in case that it comes back.
    gateway.later(61_000);
    assert.equal((await browser.open(url)).status, 200);
    gateway.later(300_000);
    const page = await browser.open(url);
    assert.equal(page.status, 400);
    assert.match(page.text, /not known here/);
    assert.deepEqual(failures(), []);
  });

  const failures = (): readonly unknown[] => gateway.lines.filter(({ message }) => message === 'a sign-in has failed');
});
