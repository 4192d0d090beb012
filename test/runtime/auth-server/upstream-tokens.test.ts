import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { errorOf, resultText } from '../../fixtures/answers.ts';
import { type AuthServerGateway, newChallenge, startAuthServer } from '../../fixtures/auth-server.ts';
import { answerStatus, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { registerClient, textIn } from '../../fixtures/signing-in.ts';
import { startTokenEndpoint, type TokenEndpoint } from '../../fixtures/token-endpoint.ts';
import { until } from '../../cluster/until.ts';
import { covers } from '../../requirements.ts';

const REDIRECT = 'http://127.0.0.1:33418/callback';

const jsonOf = async (response: Response): Promise<Record<string, string>> => {
  assert.ok(response.ok, `${response.status} ${response.url}`);
  return (await response.json()) as Record<string, string>;
};

/** A user signs in with a browser, for a client that is new; resolves with the client's access token. */
const signIn = async ({ issuer, browser }: AuthServerGateway): Promise<string> => {
  const registration = { redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
  const headers = { 'content-type': 'application/json' };
  // Its store may not have answered yet.
  const { client_id = '' } = await until('the authorization server', async () =>
    jsonOf(await fetch(`${issuer}/oauth/register`, { method: 'POST', headers, body: JSON.stringify(registration) })),
  );
  const { verifier, challenge } = newChallenge();
  const user = browser();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 's',
  });
  const page = await user.open(`${issuer}/oauth/authorize?${query.toString()}`);
  const back = await user.press(page, 'approve', { stopAt: ({ href }) => href.startsWith(REDIRECT) });
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id,
    redirect_uri: REDIRECT,
    code: back.url.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  const { access_token = '' } = await jsonOf(await fetch(`${issuer}/oauth/token`, { method: 'POST', body }));
  return access_token;
};

describe('tokens of users at identity providers', { skip: noCertificates }, () => {
  const backends: Record<string, FixtureBackend> = {};
  const refused = new Set<string>();
  let endpoint: TokenEndpoint;
  let gateway: AuthServerGateway;

  before(async () => {
    endpoint = await startTokenEndpoint();
    for (const name of ['corp', 'code', 'exchanged'])
      backends[name] = await startBackend({
        on: ({ recorded: { headers } }) => (refused.has(headers.authorization ?? '') ? answerStatus(401) : undefined),
      });
  });
  afterEach(async () => {
    refused.clear();
    await gateway.stop();
  });
  after(async () => {
    await endpoint.close();
    for (const each of Object.values(backends)) await each.close();
  });

  const inject = (providerName: string) => ({ type: 'upstream_inject', upstreamInject: { providerName } });
  const exchange = () => ({ type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url } });
  const listed = (urls: Readonly<Record<string, string>> = {}) =>
    Object.entries(backends).map(([name, { url }]) => ({ name, url: urls[name] ?? url, transport: 'streamable-http' }));
  const outgoingAuth = () => ({
    source: 'inline',
    backends: { corp: inject('corp'), code: inject('code'), exchanged: exchange() },
  });
  const start = async (options: Parameters<typeof startAuthServer>[0] = {}): Promise<AuthServerGateway> =>
    (gateway = await startAuthServer({
      providers: ['corp', 'code'],
      ...options,
      more: { backends: listed(), outgoingAuth: outgoingAuth(), ...options.more },
    }));
  const call = (token: string, backend: string) =>
    sendModern(gateway.running().url, { name: `${backend}_echo`, headers: { authorization: `Bearer ${token}` } });
  const sentTo = (backend: string): string => {
    const calls = backends[backend]?.requests.filter(({ method }) => method === 'tools/call') ?? [];
    return calls.at(-1)?.headers.authorization ?? '';
  };

  covers('authserver.stores-upstream-tokens', 'authserver.upstream.name-binding');
  covers('outgoing.token-exchange.subject-provider-autofill');
  test('each backend gets that of its provider, or what it is exchanged for, and never the client’s own', async () => {
    await start();
    const token = await signIn(gateway);
    for (const backend of ['corp', 'code', 'exchanged'])
      assert.equal(resultText(await call(token, backend)), 'echo undefined', backend);
    const [corp, code] = [sentTo('corp'), sentTo('code')];
    assert.match(corp, /^Bearer \S+$/);
    assert.match(code, /^Bearer \S+$/);
    assert.equal(new Set([corp, code, `Bearer ${token}`]).size, 3);
    assert.equal(`Bearer ${endpoint.exchanges.at(-1)?.form['subject_token']}`, corp, 'the first provider’s');
  });

  test('one that a backend refuses is refreshed at the provider, which rotates, again and again', async () => {
    await start();
    const token = await signIn(gateway);
    const seen = new Set<string>();
    for (let at = 0; at < 3; at += 1) {
      assert.equal(resultText(await call(token, 'corp')), 'echo undefined');
      seen.add(sentTo('corp'));
      if (at === 0) refused.add(sentTo('corp'));
    }
    assert.equal(seen.size, 2);
    const refreshes = gateway.providers[0]
      ?.askedFor('/token')
      .filter(({ form }) => form.get('grant_type') === 'refresh_token');
    assert.equal(refreshes?.length, 1);
  });

  test('of another account than the linked one are sent nowhere until the user has agreed to it', async () => {
    await start();
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const token = textIn(await client.tokens({ browser }), 'access_token');
    assert.equal(resultText(await call(token, 'code')), 'echo undefined');
    const [, code] = gateway.providers;
    assert.ok(code);
    // Somebody has signed the browser in at the provider as another person, and then led it into a login.
    code.comes.subject = 'mallory';
    browser.forget(code.issuer);
    const page = await browser.open(client.authorizationUrl());
    assert.equal(page.status, 200);
    const before = sentTo('code');
    assert.equal(errorOf(await call(token, 'code')).data.reason, 'login_required');
    assert.equal(sentTo('code'), before);
    assert.equal(resultText(await call(token, 'corp')), 'echo undefined');
    await browser.press(page, 'approve', { stopAt: ({ href }) => href.startsWith(REDIRECT) });
    assert.equal(resultText(await call(token, 'code')), 'echo undefined');
    assert.equal(sentTo('code'), `Bearer ${code.lastAccessToken()}`);
  });

  test('of another account, which has come while the user reads the page of consent, are asked for anew', async () => {
    await start();
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const shown = await browser.open(client.authorizationUrl());
    const [, code] = gateway.providers;
    assert.ok(code);
    code.comes.subject = 'mallory';
    browser.forget(code.issuer);
    await browser.open(client.authorizationUrl());
    const stopAt = ({ href }: URL): boolean => href.startsWith(REDIRECT);
    const again = await browser.press(shown, 'approve', { stopAt });
    assert.deepEqual([again.status, again.url.pathname], [200, '/oauth/consent']);
    assert.ok(stopAt((await browser.press(again, 'approve', { stopAt })).url));
  });

  test('a backend that is moved gets none until its user has agreed to the new address', async () => {
    await start();
    const token = await signIn(gateway);
    assert.equal(resultText(await call(token, 'corp')), 'echo undefined');
    const thief = await startBackend();
    try {
      const moved = { backends: listed({ corp: thief.url }), outgoingAuth: outgoingAuth() };
      assert.equal(gateway.running().reload(gateway.file({ more: moved })).ok, true);
      assert.equal(errorOf(await call(token, 'corp')).data.reason, 'login_required');
      assert.deepEqual(
        thief.requests.filter(({ headers }) => headers.authorization !== undefined),
        [],
      );
      assert.equal(resultText(await call(token, 'code')), 'echo undefined', 'others go on');
      const newer = await signIn(gateway);
      assert.equal(resultText(await call(newer, 'corp')), 'echo undefined');
      assert.ok(thief.requests.some(({ headers }) => headers.authorization !== undefined));
    } finally {
      await thief.close();
    }
  });

  const keys = async (): Promise<object> => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    return {
      signingKeyFiles: [await gateway.write('signing.pem', pem)],
      hmacFiles: [await gateway.write('hmac', Buffer.alloc(32, 'h'))],
    };
  };

  covers('authserver.storage.memory-restart');
  test('are lost with a restart where the storage is memory', async () => {
    await start();
    const authServer = await keys();
    await gateway.restart({ authServer });
    const token = await signIn(gateway);
    assert.equal(resultText(await call(token, 'corp')), 'echo undefined');
    await gateway.restart({ authServer });
    assert.equal(errorOf(await call(token, 'corp')).data.reason, 'login_required');
    assert.equal(resultText(await call(await signIn(gateway), 'corp')), 'echo undefined');
  });

  covers('authserver.storage.kvstore-restart');
  test('survive a restart where the storage is a store of its own', { skip: noRedis }, async () => {
    const redis = await startRedis({ password: 'p' });
    try {
      await start();
      const aclUserConfig = { passwordFile: await gateway.write('password', 'p') };
      const storage = { type: 'kvstore', kvstore: { aclUserConfig, addr: redis.address } };
      const authServer = { ...(await keys()), storage };
      await gateway.restart({ authServer });
      const token = await signIn(gateway);
      assert.equal(resultText(await call(token, 'corp')), 'echo undefined');
      const before = sentTo('corp');
      await gateway.restart({ authServer });
      await until('the store', async () => ((await call(token, 'corp')).status === 200 ? true : undefined));
      assert.equal(resultText(await call(token, 'corp')), 'echo undefined');
      assert.equal(sentTo('corp'), before);
    } finally {
      await redis.stop();
    }
  });

  covers('authz.config.primary-upstream.claims');
  test('have claims that policies can see', async () => {
    const policy = (sub: string): string =>
      `permit(principal, action, resource) when { principal.claim_sub == "${sub}" };`;
    const authz = (sub: string) => ({ type: 'cedar', policies: [policy(sub)], primaryUpstreamProvider: 'code' });
    await start();
    const token = await signIn(gateway);
    const file = (sub: string) => {
      const [{ text, name } = assert.fail()] = gateway.file({
        more: { backends: listed(), outgoingAuth: outgoingAuth() },
      });
      return [
        { name, text: text.replace('incomingAuth:\n', `incomingAuth:\n  authz: ${JSON.stringify(authz(sub))}\n`) },
      ];
    };
    assert.equal(gateway.running().reload(file('alice')).ok, true);
    assert.equal(resultText(await call(token, 'corp')), 'echo undefined', 'alice is the subject at the provider');
    assert.equal(gateway.running().reload(file('corp|alice')).ok, true);
    assert.equal(errorOf(await call(token, 'corp')).data.reason, 'forbidden', 'and corp|alice that of our token');
  });
});
