import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { TestBrowser } from '../../../fixtures/auth-server.ts';
import { resultText } from '../../../fixtures/answers.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { type LadderGateway, startLadder } from './gateway.ts';

describe('the page of linked accounts', { skip: noCertificates }, () => {
  let gateway: LadderGateway;
  before(async () => {
    gateway = await startLadder();
  });
  after(() => gateway.stop());

  let subject = 0;
  let browser: TestBrowser;
  let headers: Readonly<{ authorization: string }>;
  beforeEach(async () => {
    gateway.corp.comes.subject = `user-${(subject += 1)}`;
    browser = gateway.browser();
    headers = await gateway.signedIn(browser);
  });

  const open = (by = browser) => by.open(`${gateway.issuer}/oauth/accounts`);
  const call = (name: string) => sendModern(gateway.running().url, { name, args: {}, headers });
  const press = async (value: string, provider: string) =>
    browser.press(await open(), value, { button: 'do', provider });

  test('shows each provider with its account, its state and since when', async () => {
    const page = await open(gateway.browser());
    assert.equal(page.status, 200);
    assert.match(page.text, /<bdi>corp<\/bdi> — <bdi>Alice<\/bdi> \(<bdi>alice@example.org<\/bdi>\)/);
    assert.match(page.text, /Linked since <time datetime="20/);
    assert.match(page.text, /<bdi>github<\/bdi>[^]*Not linked/);
    assert.match(page.headers?.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(page.headers?.get('cache-control'), 'no-store');
  });

  test('links one account, and disconnects it with the provider’s knowledge', async () => {
    const asked = await press('sign-in', 'github');
    assert.match((await browser.press(asked, 'sign-in', { button: 'do' })).text, /You are signed in to github/);
    assert.equal(resultText(await call('g_echo')), 'echo {}');
    assert.match((await open()).text, /<bdi>github<\/bdi> — <bdi>Alice/);

    const revoked = gateway.github.askedFor('/token/revocation').length;
    assert.match((await press('disconnect', 'github')).text, /Not linked/);
    assert.ok(gateway.github.askedFor('/token/revocation').length > revoked);
    assert.equal((await call('g_echo')).status, 401);
    assert.equal(resultText(await call('c_echo')), 'echo {}');
  });

  test('a form that this page has not shown in this browser changes nothing', async () => {
    const csrf = /name="csrf" value="([^"]+)"/.exec((await open()).text)?.[1] ?? '';
    const other = gateway.browser();
    await open(other);
    const forged = [
      [browser, { do: 'disconnect', provider: 'corp' }],
      [browser, { do: 'disconnect', provider: 'corp', csrf: 'A'.repeat(43) }],
      [other, { do: 'disconnect', provider: 'corp', csrf }],
    ] as const;
    for (const [by, form] of forged) {
      const page = await by.open(`${gateway.issuer}/oauth/accounts`, { form });
      assert.match(page.text, /Linked since/);
    }
    assert.equal(resultText(await call('c_echo')), 'echo {}');
  });

  test('a form for a provider that does not exist changes nothing', async () => {
    const csrf = /name="csrf" value="([^"]+)"/.exec((await open()).text)?.[1] ?? '';
    const form = { do: 'disconnect', provider: 'other', csrf };
    assert.match((await browser.open(`${gateway.issuer}/oauth/accounts`, { form })).text, /Linked since/);
  });

  test('a browser that signs out here has to show again who its user is', async () => {
    const page = await browser.press(await open(), 'sign-out', { button: 'do' });
    assert.match(page.text, /You are signed out here/);
    browser.visited.length = 0;
    await open();
    assert.ok(browser.visited.some(({ origin }) => origin === gateway.corp.issuer));
  });

  test('a user who turns back at the provider is told so', async () => {
    gateway.corp.instead.set('/auth', (request, response) => {
      const { searchParams } = new URL(request.url ?? '/', gateway.corp.issuer);
      const back = `${searchParams.get('redirect_uri')}?error=access_denied&state=${searchParams.get('state')}`;
      response.writeHead(303, { location: `${back}&iss=${encodeURIComponent(gateway.corp.issuer)}` }).end();
    });
    const page = await open(gateway.browser());
    gateway.corp.instead.delete('/auth');
    assert.match(page.text, /You have not signed in/);
  });
});
