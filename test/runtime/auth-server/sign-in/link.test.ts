import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { BrowserAnswer, TestBrowser } from '../../../fixtures/auth-server.ts';
import { errorOf, resultText } from '../../../fixtures/answers.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { type LadderGateway, startLadder } from './gateway.ts';

describe('the link of one sign-in', { skip: noCertificates }, () => {
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

  const call = (name = 'g_echo') => sendModern(gateway.running().url, { name, args: {}, headers });
  const linkOf = async (): Promise<string> => String(errorOf(await call()).data['signInUrl']);
  /** A user's link, as a client without any capability gets it once in a while. */
  const freshLink = async (): Promise<string> => {
    const session = await openSession(gateway.running().url, { elicitation: { url: {} } }, headers);
    const [{ url }] = errorOf(await session.call('g_echo')).data['elicitations'] as [{ url: string }];
    return url;
  };
  const legsOf = ({ visited }: TestBrowser): readonly string[] =>
    visited.flatMap(({ origin, pathname }) =>
      pathname === '/auth' ? [origin === gateway.corp.issuer ? 'corp' : 'github'] : [],
    );
  const signIn = (page: BrowserAnswer, by = browser): Promise<BrowserAnswer> =>
    by.press(page, 'sign-in', { button: 'do' });

  test('leads to that one provider, and the call works then', async () => {
    browser.visited.length = 0;
    const page = await browser.open(await linkOf());
    assert.match(page.text, /<bdi>g<\/bdi> at/);
    assert.match((await signIn(page)).text, /You are signed in to github/);
    assert.deepEqual(legsOf(browser), ['github']);
    assert.equal(resultText(await call()), 'echo {}');
  });

  test('in a browser that nobody knows, the first provider says first who its user is', async () => {
    const other = gateway.browser();
    const page = await other.open(await linkOf());
    assert.deepEqual(legsOf(other), ['corp']);
    assert.match((await signIn(page, other)).text, /You are signed in to github/);
    assert.equal(resultText(await call()), 'echo {}');
  });

  test('whoever opens the link of another user gets nowhere, so that no account is linked with the wrong user', async () => {
    const link = await freshLink();
    gateway.corp.comes.subject = 'mallory';
    const known = gateway.browser();
    await gateway.signedIn(known);
    for (const victim of [known, gateway.browser()]) {
      victim.visited.length = 0;
      const page = await victim.open(link);
      assert.equal(page.status, 403);
      assert.match(page.text, /This link is for somebody else/);
      // Nor by a form that was shown for a link of one's own.
      assert.ok(!page.text.includes('<form'));
      assert.ok(!legsOf(victim).includes('github'));
    }
    // With the token of one's own link in a form that goes to the other's.
    const own = await sendModern(gateway.running().url, { name: 'g_echo', headers: await gateway.signedIn(known) });
    const shown = await known.open(String(errorOf(own).data['signInUrl']));
    const csrf = /name="csrf" value="([^"]+)"/.exec(shown.text)?.[1] ?? '';
    const posted = await known.open(link, { form: { csrf, do: 'sign-in' } });
    assert.equal(posted.status, 403);
    assert.equal(errorOf(await call()).code ?? 200, 401);
  });

  test('a form of another site, or of another browser, begins nothing', async () => {
    const link = await freshLink();
    const shown = await browser.open(link);
    const csrf = /name="csrf" value="([^"]+)"/.exec(shown.text)?.[1] ?? '';
    const second = gateway.browser();
    await second.open(link);
    second.visited.length = 0;
    for (const form of [{ do: 'sign-in' }, { do: 'sign-in', csrf: 'x' }, { do: 'sign-in', csrf }]) {
      const again = await second.open(link, { form });
      assert.match(again.text, /Go on only if you have just asked/);
    }
    assert.deepEqual(legsOf(second), []);
  });

  test('is used once: another try leads to the page that says it is done, or over', async () => {
    const link = await freshLink();
    await signIn(await browser.open(link));
    browser.visited.length = 0;
    assert.match((await browser.open(link)).text, /You are signed in to github/);
    assert.deepEqual(legsOf(browser), []);
    const accounts = await browser.open(`${gateway.issuer}/oauth/accounts`);
    await browser.press(accounts, 'disconnect', { button: 'do', provider: 'github' });
    assert.match((await browser.open(link)).text, /This sign-in is over/);
  });

  test('a user who turns back at the provider, or before it, can try again', async () => {
    const link = await freshLink();
    const shown = await browser.open(link);
    assert.match((await browser.press(shown, 'cancel', { button: 'do' })).text, /Nothing was changed/);
    gateway.github.instead.set('/auth', (request, response) => {
      const { searchParams } = new URL(request.url ?? '/', gateway.github.issuer);
      const back = `${searchParams.get('redirect_uri')}?error=access_denied&state=${searchParams.get('state')}`;
      response.writeHead(303, { location: `${back}&iss=${encodeURIComponent(gateway.github.issuer)}` }).end();
    });
    const page = await signIn(await browser.open(link));
    gateway.github.instead.delete('/auth');
    assert.match(page.text, /Sign in to <bdi>github/);
    assert.match((await signIn(page)).text, /You are signed in to github/);
  });

  test('a client of 2025-11-25 is told on its stream once the user has signed in', async () => {
    const { url } = gateway.running();
    const session = await openSession(url, { elicitation: { url: {} } }, headers);
    const stream = await fetch(url, {
      headers: {
        ...headers,
        accept: 'text/event-stream',
        'mcp-session-id': session.id,
        'mcp-protocol-version': '2025-11-25',
      },
    });
    const refused = errorOf(await session.call('g_echo'));
    assert.equal(refused.code, -32_042);
    const [{ url: link, elicitationId }] = refused.data['elicitations'] as [{ url: string; elicitationId: string }];
    await signIn(await browser.open(link));
    const told: string[] = [];
    for await (const chunk of stream.body ?? []) {
      told.push(Buffer.from(chunk).toString());
      if (told.join('').includes('elicitation/complete')) break;
    }
    const message = /data: (\{[^\n]*elicitation\/complete[^\n]*\})/.exec(told.join(''))?.[1] ?? '{}';
    assert.deepEqual(JSON.parse(message).params, { elicitationId });
    assert.equal(resultText(await session.call('g_echo')), 'echo {}');
  });

  test('at the first provider the same user has to sign in again, and nobody else in place of them', async () => {
    const accounts = await browser.open(`${gateway.issuer}/oauth/accounts`);
    await browser.press(accounts, 'disconnect', { button: 'do', provider: 'corp' });
    const first = await call('c_echo');
    assert.equal(first.status, 401);
    const page = await browser.open(String(errorOf(first).data['signInUrl']));
    const alice = gateway.corp.comes.subject;
    gateway.corp.comes.subject = 'somebody-else';
    browser.forget(gateway.corp.issuer);
    assert.match((await signIn(page)).text, /This link is for somebody else/);
    // What somebody else was given there is revoked.
    assert.ok(gateway.corp.askedFor('/token/revocation').length > 0);

    const second = await call('c_echo');
    gateway.corp.comes.subject = alice;
    browser.forget(gateway.corp.issuer);
    const link = /open (\S+) in a browser/.exec(resultText(second))?.[1] ?? '';
    assert.match((await signIn(await browser.open(link))).text, /You are signed in to corp/);
    assert.equal(resultText(await call('c_echo')), 'echo {}');
  });

  test('a sign-in that only showed who the user is counts as the one at the first provider', async () => {
    const accounts = await browser.open(`${gateway.issuer}/oauth/accounts`);
    await browser.press(accounts, 'disconnect', { button: 'do', provider: 'corp' });
    const other = gateway.browser();
    const page = await other.open(String(errorOf(await call('c_echo')).data['signInUrl']));
    assert.match((await signIn(page, other)).text, /You are signed in to corp/);
    assert.deepEqual(legsOf(other), ['corp']);
    assert.equal(resultText(await call('c_echo')), 'echo {}');
  });
});
