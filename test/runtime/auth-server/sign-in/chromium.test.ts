import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorOf, resultText } from '../../../fixtures/answers.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { type Chromium, noChromium, type OpenedPage, startChromium } from '../../../fixtures/chromium.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { codeIn, REDIRECT, textIn } from '../../../fixtures/signing-in.ts';
import { questionIn } from './answers.ts';
import { type LadderGateway, startLadder } from './gateway.ts';

const skip = noCertificates || noChromium;

/** A login in a real browser, up to the consent of its user. */
const tokenBy = async ({ client }: LadderGateway, { page }: OpenedPage): Promise<string> => {
  await page.route(`${REDIRECT}**`, (route) => route.fulfill({ body: 'back at the client' }));
  await page.goto(client.authorizationUrl({ scope: 'openid' }).href);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${REDIRECT}**`);
  return textIn(await client.redeem(codeIn(new URL(page.url()))), 'access_token');
};

test(
  'a user signs in where a call needs it, in a real browser, again when it ends, while all else goes on',
  { skip },
  async (t) => {
    const gateway = await startLadder();
    t.after(gateway.stop);
    const chromium: Chromium = await startChromium();
    t.after(() => chromium.stop());
    const opened = await chromium.open({ ignoreHTTPSErrors: true });
    const { page } = opened;
    const headers = { authorization: `Bearer ${await tokenBy(gateway, opened)}` };
    const { url } = gateway.running();
    const call = (name: string, answers?: object) =>
      sendModern(url, {
        name,
        args: {},
        headers,
        capabilities: { elicitation: { url: {} } },
        ...(answers && { answers }),
      });
    const othersGoOn = async (): Promise<void> => {
      for (const name of ['plain_echo', 'c_echo']) assert.equal(resultText(await call(name)), 'echo {}');
    };
    await othersGoOn();

    const [key, question] = questionIn(await call('g_echo'));
    await page.goto(String(question.params['url']));
    // The client agrees at once, and its call waits for the user.
    const waiting = call('g_echo', { [key]: { action: 'accept' } });
    await othersGoOn();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('You are signed in to github').waitFor();
    assert.equal(resultText(await waiting), 'echo {}');

    // The provider ends it.
    for (const { headers: sent } of gateway.backends.g.requests) gateway.refused.add(sent.authorization ?? '');
    gateway.github.instead.set('/token', (_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    });
    questionIn(await call('g_echo'));
    gateway.github.instead.delete('/token');
    await othersGoOn();
    await page.goto(`${gateway.issuer}/oauth/accounts`);
    await page.getByText('You have to sign in again.').waitFor();
    await page.getByRole('button', { name: 'Sign in to github' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('You are signed in to github').waitFor();
    assert.equal(resultText(await call('g_echo')), 'echo {}');

    await page.getByRole('link', { name: 'Linked accounts' }).click();
    await page.getByRole('button', { name: 'Disconnect github' }).click();
    await page.getByText('Not linked.').waitFor();
    questionIn(await call('g_echo'));
    await othersGoOn();
    assert.deepEqual(opened.complaints, []);
  },
);

test('another user’s browser gets nowhere with the link', { skip }, async (t) => {
  const gateway = await startLadder();
  t.after(gateway.stop);
  const chromium = await startChromium();
  t.after(() => chromium.stop());
  const headers = await gateway.signedIn();
  const link = String(errorOf(await sendModern(gateway.running().url, { name: 'g_echo', headers })).data['signInUrl']);
  gateway.corp.comes.subject = 'mallory';
  const { page } = await chromium.open({ ignoreHTTPSErrors: true });
  await page.goto(link);
  await page.getByRole('heading', { name: 'This link is for somebody else' }).waitFor();
  assert.equal(await page.getByRole('button').count(), 0);
});
