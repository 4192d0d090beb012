import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import { decodeJwt } from 'jose';
import { type AuthServerGateway, type AuthServerOptions, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import type { Store } from '../../../runtime/store/index.ts';
import { codeIn, REDIRECT, registerClient, textIn } from '../../fixtures/signing-in.ts';
import { covers } from '../../requirements.ts';

const clean: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of clean.splice(0)) await each();
});

const started = async (options: AuthServerOptions = {}): Promise<AuthServerGateway> => {
  const gateway = await startAuthServer(options);
  clean.unshift(gateway.stop);
  return gateway;
};

const isCallback = ({ pathname }: URL): boolean => pathname.endsWith('/oauth/callback');
const isConsent = ({ pathname }: URL): boolean => pathname.endsWith('/oauth/consent');

suite('several identity providers', { skip: noCertificates }, () => {
  covers('authserver.chain.order', 'authserver.chain.single-jwt', 'authserver.upstreams.vmcp-several');
  test('are visited one after the other, in the order of the configuration, and lead to one token', async () => {
    const gateway = await started({ providers: ['corp', 'code', 'wiki'] });
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const answer = await client.redeem(codeIn(await client.signIn({ browser })));
    const origins = gateway.providers.map(({ issuer }) => issuer);
    const visited = browser.visited.toReversed().map(({ origin }) => origin);
    const order = visited.filter((origin, at) => origins.includes(origin) && origin !== visited[at - 1]);
    assert.deepEqual(order, origins);
    assert.equal(decodeJwt(textIn(answer, 'access_token')).sub, 'corp|alice');
  });

  covers('authserver.chain.store-before-next', 'authserver.stores-upstream-tokens', 'authserver.upstream.name-binding');
  test('have their tokens kept before the next one is visited, each for the backends that use it', async () => {
    const strategy = (providerName: string) => ({ type: 'upstream_inject', upstreamInject: { providerName } });
    const gateway = await started({
      providers: ['corp', 'code'],
      more: { outgoingAuth: { source: 'inline', backends: { a: strategy('corp') } } },
    });
    const client = await registerClient(gateway);
    const token = textIn(await client.tokens(), 'access_token');
    const session = await openSession(gateway.running().url, {}, { authorization: `Bearer ${token}` });
    const [tool = ''] = await session.toolNames();
    const [corp, code] = gateway.providers;
    const sent = gateway.backend.requests
      .map(({ headers }) => headers.authorization)
      .filter((each) => each !== undefined);
    assert.ok(sent.length > 0);
    assert.ok(
      sent.every((each) => each === `Bearer ${corp?.lastAccessToken()}`),
      sent.join('\n'),
    );
    assert.notEqual(corp?.lastAccessToken(), code?.lastAccessToken());

    // The first tokens are kept although the login never gets any further.
    const before = corp?.lastAccessToken();
    await gateway.browser().open(client.authorizationUrl(), { stopAt: ({ origin }) => origin === code?.issuer });
    assert.notEqual(corp?.lastAccessToken(), before);
    await session.call(tool);
    assert.equal(gateway.backend.requests.at(-1)?.headers.authorization, `Bearer ${corp?.lastAccessToken()}`);
  });

  covers('authserver.chain.incomplete-no-token');
  test('all have to be visited: there is no consent, and no code, before the last one', async () => {
    const gateway = await started({ providers: ['corp', 'code'] });
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const [corp, code] = gateway.providers;
    const atSecond = await browser.open(client.authorizationUrl(), { stopAt: ({ origin }) => origin === code?.issuer });
    const id = (atSecond.url.searchParams.get('state') ?? '').split('.')[0] ?? '';
    // The page of consent sends the browser back to where it has to go first, and so does its form.
    const stopAt = ({ origin }: URL): boolean => origin === code?.issuer || origin === corp?.issuer;
    const consent = `${gateway.issuer}/oauth/consent?login=${id}`;
    assert.equal((await browser.open(consent, { stopAt })).url.origin, code?.issuer);
    const forced = await browser.open(consent, { stopAt, form: { decision: 'approve', csrf: 'x' } });
    assert.equal(forced.url.origin, code?.issuer);
    // The browser may still go on.
    const page = await browser.open(atSecond.url);
    const { url } = await browser.press(page, 'approve', { stopAt: ({ href }) => href.startsWith(REDIRECT) });
    assert.equal((await client.redeem(codeIn(url))).status, 200);
  });

  test('are shown in the order of the configuration, whatever order the store has', async () => {
    const storeSeen = (store: Store): Store => ({
      ...store,
      readMap: async (...asked) => {
        const fields = await store.readMap(...asked);
        return fields && Object.assign(new Map([...fields].toReversed()), { readAtMs: fields.readAtMs });
      },
    });
    const names = ['corp', 'code', 'wiki'];
    const gateway = await started({ providers: names, storeSeen });
    const page = await gateway.browser().open((await registerClient(gateway)).authorizationUrl());
    const shown = [...page.text.matchAll(/<li><bdi>(\w+)<\/bdi> — <bdi>Alice/g)].map(([, name]) => name);
    assert.deepEqual(shown, names);
  });

  covers('authserver.redirects-to-oauth2');
  test('of both types are visited', async () => {
    const gateway = await started({ providers: ['corp', 'code'], oauth2: ['code'] });
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    assert.equal((await client.redeem(codeIn(await client.signIn({ browser })))).status, 200);
    const [, code] = gateway.providers;
    assert.ok(browser.visited.some(({ origin }) => origin === code?.issuer));
  });
});

suite('a login', { skip: noCertificates }, () => {
  test('takes the answer of a provider once', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const answered = await browser.open(client.authorizationUrl(), { stopAt: isCallback });
    const redeemed = (): number => gateway.providers[0]?.askedFor('/token').length ?? 0;
    const first = await browser.open(answered.url);
    assert.ok(isConsent(first.url));
    const second = await browser.open(answered.url);
    assert.equal(redeemed(), 1);
    // The same browser may go on, as after "reload"; the code of the provider was not redeemed again.
    assert.ok(isConsent(second.url));
  });

  test('belongs to the browser that began it', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    const answered = await gateway.browser().open(client.authorizationUrl(), { stopAt: isCallback });
    const other = gateway.browser();
    assert.equal((await other.open(answered.url)).status, 400);
    // Neither has another login of that browser any part in it.
    await other.open(client.authorizationUrl());
    assert.equal((await other.open(answered.url)).status, 400);
    assert.equal(gateway.providers[0]?.askedFor('/token').length, 1);
    const id = (answered.url.searchParams.get('state') ?? '').split('.')[0] ?? '';
    for (const path of ['login', 'consent'])
      assert.equal((await other.open(`${gateway.issuer}/oauth/${path}?login=${id}`)).status, 400);
  });

  test('asks for consent for each client anew, and takes no form of another login', async () => {
    const gateway = await started();
    const [first, second] = [await registerClient(gateway), await registerClient(gateway, { client_name: 'Other' })];
    const browser = gateway.browser();
    const page = await browser.open(first.authorizationUrl());
    const other = await browser.open(second.authorizationUrl());
    assert.ok(isConsent(other.url) && other.text.includes('Other'));
    const crossed = { ...page, url: other.url, text: page.text.replace(page.url.search, other.url.search) };
    const answer = await browser.press(crossed, 'approve', { stopAt: ({ href }) => href.startsWith(REDIRECT) });
    assert.equal(answer.status, 200);
    assert.ok(isConsent(answer.url), answer.url.href);
    const forged = { ...page, text: page.text.replace(/name="csrf" value="[^"]+"/, 'name="csrf" value="forged"') };
    assert.ok(isConsent((await browser.press(forged, 'approve')).url));
  });

  test('does not mix up providers: what one answers is no answer of another', async () => {
    const gateway = await started({ providers: ['corp', 'code'] });
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const answered = await browser.open(client.authorizationUrl(), { stopAt: isCallback });
    answered.url.searchParams.set('iss', gateway.providers[1]?.issuer ?? '');
    assert.equal((await browser.open(answered.url)).status, 400);
    assert.equal(gateway.providers[0]?.askedFor('/token').length, 0);
  });

  test('ends with access_denied at the client where the user does not sign in at the provider', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const answered = await browser.open(client.authorizationUrl(), { stopAt: isCallback });
    const { searchParams } = answered.url;
    for (const name of ['code']) searchParams.delete(name);
    searchParams.set('error', 'access_denied');
    const { url } = await browser.open(answered.url, { stopAt: ({ href }) => href.startsWith(REDIRECT) });
    assert.equal(url.searchParams.get('error'), 'access_denied');
    assert.equal(url.searchParams.get('iss'), gateway.issuer);
  });

  test('says so where the provider is away, and goes on once it is there', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    const [provider] = gateway.providers;
    const browser = gateway.browser();
    provider?.instead.set('/token', (_request, response) => void response.writeHead(503).end());
    const page = await browser.open(client.authorizationUrl());
    assert.equal(page.status, 503);
    assert.match(page.text, /identity provider does not answer/);
    const failed = gateway.lines.find(({ message }) => message === 'a sign-in has failed');
    assert.equal((failed?.fields['err'] as { provider?: string } | undefined)?.provider, 'corp', 'the log names it');
    provider?.instead.clear();
    const id = (page.url.searchParams.get('state') ?? '').split('.')[0] ?? '';
    assert.ok(isConsent((await browser.open(`${gateway.issuer}/oauth/login?login=${id}`)).url));
  });

  test('says that this server is at fault where the client secret is missing', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    await gateway.write('client-secret', '');
    const page = await gateway.browser().open(client.authorizationUrl());
    assert.equal(page.status, 503);
    assert.match(page.text, /This server cannot sign you in at the moment/);
    assert.equal(gateway.providers[0]?.askedFor('/token').length, 0);
    await gateway.write('client-secret', 'a client secret');
    assert.equal((await client.tokens()).status, 200);
  });

  test('takes place where browsers find this server', async () => {
    const gateway = await started({ isCallbackElsewhere: true });
    const base = gateway.issuer.replace('127.0.0.1', 'localhost');
    await gateway.restart({ authServer: { authorizationEndpointBaseUrl: base } });
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const stopAt = ({ href }: URL): boolean => href.startsWith(REDIRECT);
    const page = await browser.open(client.authorizationUrl().href.replace(gateway.issuer, base), { stopAt });
    assert.ok(isConsent(page.url) && page.url.href.startsWith(base), page.url.href);
    const { url } = await browser.press(page, 'approve', { stopAt });
    assert.equal(url.searchParams.get('iss'), gateway.issuer);
    assert.equal((await client.redeem(codeIn(url))).status, 200);
  });

  test('gets back from a provider that knows another host of this server', async () => {
    const gateway = await started({ isCallbackElsewhere: true });
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    assert.equal((await client.redeem(codeIn(await client.signIn({ browser })))).status, 200);
    const callbacks = browser.visited.filter(isCallback).map(({ hostname }) => hostname);
    assert.deepEqual(callbacks.toReversed(), ['localhost', '127.0.0.1']);
  });
});
