import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createPublicKey, randomBytes } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { browsersAt, secretCookie } from '../../../runtime/auth-server/login/browser.ts';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { codeIn, REDIRECT, registerClient, type TestClient, textIn } from '../../fixtures/signing-in.ts';

const isBack = ({ href }: URL): boolean => href.startsWith(REDIRECT);

describe('attacks on the authorization server', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  let client: TestClient;
  before(async () => {
    gateway = await startAuthServer();
    client = await registerClient(gateway);
  });
  after(() => gateway.stop());

  const enter = async (token: string): Promise<number> =>
    (await post(gateway.running().url, INITIALIZE, { authorization: `Bearer ${token}` })).status;
  const tokenAnswer = async (form: string): Promise<{ status: number; error: unknown }> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await fetch(`${gateway.issuer}/oauth/token`, { method: 'POST', headers, body: form });
    return { status: response.status, error: ((await response.json()) as { error?: unknown }).error };
  };

  test('a refresh token of another client gives nothing, and stays good for its own', async () => {
    const other = await registerClient(gateway, { client_name: 'Another' });
    const refreshToken = textIn(await client.tokens(), 'refresh_token');
    const asked = gateway.providers[0]?.askedFor('/token').length;
    assert.equal((await other.refresh(refreshToken)).body['error'], 'invalid_grant');
    assert.equal(gateway.providers[0]?.askedFor('/token').length, asked, 'no provider is asked');
    assert.equal((await client.refresh(refreshToken)).status, 200);
  });

  test('a code of another client gives nothing', async () => {
    const other = await registerClient(gateway);
    const code = codeIn(await client.signIn());
    assert.equal((await other.redeem(code)).body['error'], 'invalid_grant');
  });

  test('a refresh asks for a scope that was not granted, and gets none', async () => {
    const tokens = await client.tokens({ parameters: { scope: 'openid offline_access' } });
    const answer = await client.refresh(textIn(tokens, 'refresh_token'), { scope: 'openid profile offline_access' });
    assert.equal(answer.status, 400);
    assert.equal(answer.body['access_token'], undefined);
  });

  test('a code is redeemed without the proof of PKCE, or with another one', async () => {
    for (const verifier of [undefined, '', 'a'.repeat(43)]) {
      const code = codeIn(await client.signIn());
      const { status, body } = await client.redeem(code, { code_verifier: verifier });
      assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
    }
  });

  test('a challenge of PKCE is downgraded', async () => {
    const downgrades = [
      { code_challenge_method: 'plain' },
      { code_challenge: undefined, code_challenge_method: undefined },
    ];
    for (const parameters of downgrades) {
      const back = await client.signIn({ parameters });
      assert.equal(back.searchParams.get('code'), null);
      assert.equal(back.searchParams.get('error'), 'invalid_request');
    }
  });

  test('a parameter of an authorization request is there twice', async () => {
    for (const name of ['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'code_challenge']) {
      const url = client.authorizationUrl({ scope: 'openid' });
      url.searchParams.append(name, name === 'redirect_uri' ? 'https://evil.example/' : 'other');
      const { url: at } = await gateway
        .browser()
        .open(url, { stopAt: (to) => isBack(to) || to.hostname === 'evil.example' });
      assert.notEqual(at.hostname, 'evil.example', name);
      assert.equal(at.searchParams.get('code'), null, name);
      assert.notEqual(at.pathname, '/oauth/consent', name);
    }
  });

  test('a parameter of a token request is there twice', async () => {
    const code = codeIn(await client.signIn());
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      client_id: client.id,
      redirect_uri: REDIRECT,
    });
    for (const name of ['grant_type', 'code', 'client_id', 'redirect_uri']) {
      const answer = await tokenAnswer(`${form.toString()}&${name}=other`);
      assert.ok(answer.status === 400 || answer.status === 401, `${name} ${answer.status}`);
    }
  });

  test('a client id is forged, cut, or of another server', async (t) => {
    const another = await startAuthServer();
    t.after(another.stop);
    const foreign = await registerClient(another);
    const { id } = client;
    for (const forged of [
      foreign.id,
      id.slice(0, -2),
      `${id}AA`,
      id.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      '__proto__',
    ]) {
      const page = await gateway.browser().open(client.authorizationUrl({ client_id: forged }), { stopAt: isBack });
      assert.ok(!isBack(page.url) && page.status === 400, forged);
      assert.equal(
        (await tokenAnswer(`grant_type=refresh_token&refresh_token=x&client_id=${forged}`)).error,
        'invalid_client',
      );
    }
  });

  test('a client is called by markup', async () => {
    const name = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'';
    const marked = await registerClient(gateway, { client_name: name });
    const page = await gateway.browser().open(marked.authorizationUrl());
    assert.equal(page.status, 200);
    assert.doesNotMatch(page.text, /<script|<img/i);
    assert.match(page.headers?.get('content-security-policy') ?? '', /default-src 'none'/);
  });

  test('the answer of a provider names another issuer', async () => {
    const browser = gateway.browser();
    const stopAt = ({ pathname }: URL): boolean => pathname.endsWith('/oauth/callback');
    const { url } = await browser.open(client.authorizationUrl(), { stopAt });
    url.searchParams.set('iss', 'https://evil.example');
    const page = await browser.open(url, { stopAt: (to) => isBack(to) || to.pathname === '/oauth/consent' });
    assert.ok(!isBack(page.url) || page.url.searchParams.get('code') === null);
    assert.notEqual(page.url.pathname, '/oauth/consent');
  });

  test('the answer of a provider is given to another browser', async () => {
    const stopAt = ({ pathname }: URL): boolean => pathname.endsWith('/oauth/callback');
    const { url } = await gateway.browser().open(client.authorizationUrl(), { stopAt });
    const victim = await gateway.browser().open(url, { stopAt: isBack });
    assert.ok(victim.status >= 400, String(victim.status));
    assert.equal(victim.headers?.get('set-cookie'), null);
  });

  test('a cookie of a sibling domain is in place of that of the browser', async () => {
    const { secretIn, known } = browsersAt('https://mcp.example.com', randomBytes);
    const [name = ''] = known(undefined).setCookie?.split('=') ?? [];
    assert.match(name, /^__Host-vmcp-login-[0-9a-f]{8}$/);
    const chosen = 'a'.repeat(43);
    assert.equal(secretIn(`${name}=${chosen}`), chosen);
    assert.equal(
      secretIn(`${name.replace('__Host-', '')}=${chosen}`),
      undefined,
      'only __Host- counts where there is TLS',
    );
    const page = await fetch(client.authorizationUrl(), {
      redirect: 'manual',
      headers: { cookie: secretCookie(gateway.issuer, 'vmcp-login').setting('chosen') },
    });
    const [given = ''] = page.headers.getSetCookie();
    assert.match(given, /^vmcp-login-[0-9a-f]{8}=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    assert.doesNotMatch(given, /chosen/);
  });

  test('a cookie is that of another issuer on the same host', () => {
    const [one, other] = ['one', 'other'].map((path) => browsersAt(`https://mcp.example.com/${path}`, randomBytes));
    const { setCookie = '' } = one?.known(undefined) ?? {};
    assert.notEqual(one?.secretIn(setCookie), undefined);
    assert.equal(other?.secretIn(setCookie), undefined);
  });

  test('a token is signed with the public key, with nothing, or by somebody else', async () => {
    const token = textIn(await client.tokens(), 'access_token');
    const [jwk] = ((await (await fetch(`${gateway.issuer}/.well-known/jwks.json`)).json()) as { keys: object[] }).keys;
    const pem = createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const { kid } = decodeProtectedHeader(token);
    const confused = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', ...(kid !== undefined && { kid }) })
      .sign(Buffer.from(pem));
    const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
    assert.equal(await enter(token), 200);
    for (const forged of [confused, `${header}.${token.split('.')[1]}.`]) assert.equal(await enter(forged), 401);
  });

  test('an answer is asked for in a form that the metadata does not list', async () => {
    for (const response_mode of ['form_post', 'form_post.jwt', 'web_message', '']) {
      const isRefused = response_mode !== '';
      const back = await client.signIn({ parameters: { response_mode } });
      assert.equal(back.searchParams.get('error'), isRefused ? 'unsupported_response_mode' : null, response_mode);
      assert.equal(back.searchParams.has('code'), !isRefused);
    }
  });

  test('a user chooses the name that this server has given to another one', async () => {
    const [provider] = gateway.providers;
    assert.ok(provider);
    const subjectFor = async (subject: string): Promise<string | undefined> => {
      provider.comes.subject = subject;
      return decodeJwt(textIn(await client.tokens(), 'access_token')).sub;
    };
    const victim = (await subjectFor('ålice')) ?? '';
    const [, hashed = ''] = victim.split('|');
    assert.match(hashed, /^sha256-/);
    assert.notEqual(await subjectFor(hashed), victim);
    provider.comes.subject = 'alice';
  });

  test('a token is asked for a resource of somebody else', async () => {
    const back = await client.signIn({ parameters: { resource: 'https://elsewhere.example/mcp' } });
    assert.equal(back.searchParams.get('error'), 'invalid_target');
    const refreshToken = textIn(await client.tokens(), 'refresh_token');
    const answer = await client.refresh(refreshToken, { resource: 'https://elsewhere.example/mcp' });
    assert.deepEqual([answer.status, answer.body['error']], [400, 'invalid_target']);
  });

  test('a body is larger than any request', async () => {
    const large = 'a'.repeat(2 * 1024 * 1024);
    for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke']) {
      const status = await fetch(`${gateway.issuer}${path}`, { method: 'POST', body: large }).then(
        (response) => response.status,
        () => 413,
      );
      assert.equal(status, 413, path);
    }
  });
});
