import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { TestBrowser } from '../../../fixtures/auth-server.ts';
import { resultText } from '../../../fixtures/answers.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { type LadderGateway, startLadder } from './gateway.ts';

describe('a login in which a client asks for a provider', { skip: noCertificates }, () => {
  let gateway: LadderGateway;
  before(async () => {
    gateway = await startLadder();
  });
  after(() => gateway.stop());

  let subject = 0;
  let browser: TestBrowser;
  beforeEach(async () => {
    gateway.corp.comes.subject = `user-${(subject += 1)}`;
    browser = gateway.browser();
    await gateway.signedIn(browser);
  });

  const legsOf = ({ visited }: TestBrowser): readonly string[] =>
    visited
      .flatMap(({ origin, pathname }) =>
        pathname === '/auth' ? [origin === gateway.corp.issuer ? 'corp' : 'github'] : [],
      )
      .toReversed();
  const stepUp = async (by: TestBrowser, scope: string, more = {}): Promise<readonly string[]> => {
    by.visited.length = 0;
    const { status, body } = await gateway.client.tokens({ browser: by, parameters: { scope, ...more } });
    assert.equal(status, 200, JSON.stringify(body));
    return legsOf(by);
  };

  test('a login without such a scope leads to the providers of every login only', async () => {
    assert.deepEqual(await stepUp(browser, 'openid'), ['corp']);
  });

  test('the browser that has shown who its user is goes to that provider alone', async () => {
    assert.deepEqual(await stepUp(browser, 'openid upstream:github'), ['github']);
    assert.deepEqual(await stepUp(browser, 'upstream:github'), ['github']);
    const headers = await gateway.signedIn(browser);
    assert.equal(resultText(await sendModern(gateway.running().url, { name: 'g_echo', args: {}, headers })), 'echo {}');
  });

  test('any other browser shows first who its user is, and so does one that is asked to', async () => {
    assert.deepEqual(await stepUp(gateway.browser(), 'openid upstream:github'), ['corp', 'github']);
    assert.deepEqual(await stepUp(browser, 'openid upstream:github', { prompt: 'login' }), ['corp', 'github']);
    assert.deepEqual(await stepUp(browser, 'openid upstream:corp'), ['corp']);
    assert.deepEqual(await stepUp(browser, 'openid upstream:corp upstream:github'), ['corp', 'github']);
  });

  test('a browser whose user has nothing alive at the first provider goes there, too', async () => {
    const accounts = await browser.open(`${gateway.issuer}/oauth/accounts`);
    await browser.press(accounts, 'disconnect', { button: 'do', provider: 'corp' });
    assert.deepEqual(await stepUp(browser, 'upstream:github'), ['corp', 'github']);
  });

  test('a provider that does not exist is a scope that nobody may ask for', async () => {
    const back = await gateway.client.signIn({ browser, parameters: { scope: 'openid upstream:other' } });
    assert.equal(back.searchParams.get('error'), 'invalid_scope');
  });
});

describe('a login where every provider is asked', { skip: noCertificates }, () => {
  let gateway: LadderGateway;
  before(async () => {
    gateway = await startLadder({ more: { extensions: {} } });
  });
  after(() => gateway.stop());

  test('leads to all providers, and in a step-up to those alone that are asked for, or dead', async () => {
    const browser = gateway.browser();
    const providersOf = async (scope: string): Promise<readonly string[]> => {
      browser.visited.length = 0;
      assert.equal((await gateway.client.tokens({ browser, parameters: { scope } })).status, 200);
      return browser.visited
        .flatMap(({ origin, pathname }) =>
          pathname === '/auth' ? [origin === gateway.corp.issuer ? 'corp' : 'github'] : [],
        )
        .toReversed();
    };
    assert.deepEqual(await providersOf('openid'), ['corp', 'github']);
    assert.deepEqual(await providersOf('openid upstream:corp'), ['corp']);
    const accounts = await browser.open(`${gateway.issuer}/oauth/accounts`);
    await browser.press(accounts, 'disconnect', { button: 'do', provider: 'github' });
    assert.deepEqual(await providersOf('openid upstream:corp'), ['corp', 'github']);
  });
});
