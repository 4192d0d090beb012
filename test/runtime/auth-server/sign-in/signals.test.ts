import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { errorOf, resultOf, resultText } from '../../../fixtures/answers.ts';
import { startBackend } from '../../../fixtures/backend.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { openSession, type RawAnswer } from '../../../fixtures/raw-client.ts';
import { registerClient, textIn } from '../../../fixtures/signing-in.ts';
import { questionIn } from './answers.ts';
import { type LadderGateway, startLadder } from './gateway.ts';

const ONLY_G = {
  source: 'inline',
  backends: { g: { type: 'upstream_inject', upstreamInject: { providerName: 'github' } } },
};

const URLS = { elicitation: { url: {} } };

/** Client → what it gets at the first call that needs a sign-in, and at the second one. */
const CLIENTS: readonly [era: 'legacy' | 'modern', capabilities: object, first: string, second: string][] = [
  ['legacy', URLS, '-32042', '-32042'],
  ['legacy', { elicitation: { form: {}, url: {} } }, '-32042', '-32042'],
  ['legacy', { elicitation: {} }, '401', 'text'],
  ['legacy', { elicitation: { form: {} } }, '401', 'text'],
  ['legacy', {}, '401', 'text'],
  ['modern', URLS, 'input_required', 'input_required'],
  ['modern', { elicitation: { form: {}, url: {} } }, 'input_required', 'input_required'],
  ['modern', { elicitation: {} }, '401', 'text'],
  ['modern', { elicitation: { form: {} } }, '401', 'text'],
  ['modern', {}, '401', 'text'],
];

/** What an answer is, once all that such an answer has to have was found in it. */
const signalIn = (answer: RawAnswer, issuer: string): string => {
  const isLink = (url: unknown): boolean => String(url).startsWith(`${issuer}/oauth/link?t=`);
  const scope = 'error="insufficient_scope", scope="upstream:github"';
  if (answer.status === 401) {
    assert.ok(answer.headers.get('www-authenticate')?.includes(scope));
    const { code, message, data } = errorOf(answer);
    assert.deepEqual([code, data.reason], [401, 'login_required']);
    assert.ok(isLink(data['signInUrl']) && message.includes(String(data['signInUrl'])));
    assert.equal(data['accountsUrl'], `${issuer}/oauth/accounts`);
    return '401';
  }
  assert.equal(answer.status, 200, answer.text);
  if (errorOf(answer)) {
    const { code, data } = errorOf(answer);
    const [one] = data['elicitations'] as Record<string, unknown>[];
    assert.deepEqual(
      [one?.['mode'], typeof one?.['elicitationId'], typeof one?.['message']],
      ['url', 'string', 'string'],
    );
    assert.ok(isLink(one?.['url']));
    return String(code);
  }
  const { resultType, isError, _meta: meta } = resultOf(answer);
  if (resultType === 'input_required') {
    const [, { method, params }] = questionIn(answer);
    assert.deepEqual([method, params['mode'], 'elicitationId' in params], ['elicitation/create', 'url', false]);
    assert.ok(isLink(params['url']));
    return 'input_required';
  }
  assert.equal(isError, true);
  assert.match(resultText(answer), new RegExp(`open ${issuer}/oauth/link\\?t=\\S+ in a browser`));
  assert.ok(JSON.stringify(Object(meta)['mcp/www_authenticate']).includes(scope.replaceAll('"', String.raw`\"`)));
  return 'text';
};

describe('a call that needs a sign-in upstream', { skip: noCertificates }, () => {
  let gateway: LadderGateway;
  before(async () => {
    gateway = await startLadder();
  });
  after(() => gateway.stop());

  let headers: Readonly<{ authorization: string }>;
  let subject = 0;
  beforeEach(async () => {
    // Another user each time, as a client that was challenged is remembered.
    gateway.corp.comes.subject = `user-${(subject += 1)}`;
    headers = await gateway.signedIn();
  });

  for (const [era, capabilities, first, second] of CLIENTS) {
    test(`${era} client, ${JSON.stringify(capabilities)}: ${first}, then ${second}`, async () => {
      const { url } = gateway.running();
      const session = era === 'legacy' ? await openSession(url, capabilities, headers) : undefined;
      const call = (): Promise<RawAnswer> =>
        session ? session.call('g_echo') : sendModern(url, { name: 'g_echo', capabilities, headers });
      assert.equal(signalIn(await call(), gateway.issuer), first);
      assert.equal(signalIn(await call(), gateway.issuer), second);
      // The other backends go on.
      assert.equal(resultText(await sendModern(url, { name: 'c_echo', args: {}, headers })), 'echo {}');
      assert.equal(resultText(await sendModern(url, { name: 'plain_echo', args: {}, headers })), 'echo {}');
      assert.doesNotMatch(JSON.stringify(gateway.lines), /oauth\/link\?t=/);
    });
  }

  test('a modern client signs in at the link, and the retry of its call goes on', async () => {
    const { url } = gateway.running();
    const browser = gateway.browser();
    headers = await gateway.signedIn(browser);
    const sent = { name: 'g_echo', args: {}, capabilities: URLS, headers };
    const [key, question] = questionIn(await sendModern(url, sent));
    const page = await browser.open(String(question.params['url']));
    assert.match(page.text, /Sign in to <bdi>github/);
    const done = await browser.press(page, 'sign-in', { button: 'do' });
    assert.match(done.text, /You are signed in to github/);
    const answer = await sendModern(url, { ...sent, answers: { [key]: { action: 'accept' } } });
    assert.equal(resultText(answer), 'echo {}');
    const token = gateway.backends.g.requests.findLast(({ method }) => method === 'tools/call')?.headers.authorization;
    assert.match(token ?? '', /^Bearer /);
  });
});

test('a list that would be empty for want of a sign-in says where to do that', { skip: noCertificates }, async (t) => {
  const lonely = await startBackend();
  t.after(() => lonely.close());
  const gateway = await startLadder({
    more: { backends: [{ name: 'g', url: lonely.url, transport: 'streamable-http' }], outgoingAuth: ONLY_G },
  });
  t.after(gateway.stop);
  const headers = await gateway.signedIn();
  const session = await openSession(gateway.running().url, {}, headers);
  assert.equal(signalIn(await session.request('tools/list'), gateway.issuer), '401');
  const again = await session.request('tools/list');
  assert.equal(again.status, 200);
  assert.deepEqual([errorOf(again).code, errorOf(again).data.reason], [401, 'login_required']);
  assert.match(errorOf(again).message, /open http\S+ in a browser/);
});

test(
  'nobody is asked to sign in for tools that they may not call: policies decide first',
  { skip: noCertificates },
  async (t) => {
    const permitted = ['plain_echo', 'c_echo'];
    const policies = permitted.map((name) => `permit(principal, action, resource == Tool::"${name}");`);
    const gateway = await startLadder();
    t.after(gateway.stop);
    const { issuer, resource } = gateway;
    const oidc = { issuer, audience: resource, resource, clientId: 'vmcp', insecureAllowHttp: true };
    await gateway.restart({ more: { incomingAuth: { type: 'oidc', oidc, authz: { type: 'cedar', policies } } } });
    const client = await registerClient(gateway);
    const headers = { authorization: `Bearer ${textIn(await client.tokens(), 'access_token')}` };
    const { url } = gateway.running();
    for (const capabilities of [URLS, {}]) {
      const refused = await sendModern(url, { name: 'g_echo', args: {}, capabilities, headers });
      assert.equal(errorOf(refused).data.reason, 'forbidden', refused.text);
      assert.doesNotMatch(refused.text, /oauth\/link/);
      const session = await openSession(url, capabilities, headers);
      assert.deepEqual((await session.toolNames()).toSorted(), permitted.toSorted());
    }
    assert.equal(gateway.github.asked.length, 0);
  },
);

test(
  'who declines, or signs in nowhere, is told so in the end, and is asked again by another call',
  { skip: noCertificates },
  async (t) => {
    const gateway = await startLadder();
    t.after(gateway.stop);
    const headers = await gateway.signedIn();
    const sent = { name: 'g_echo', args: {}, capabilities: URLS, headers };
    const call = (answers?: object) => sendModern(gateway.running().url, { ...sent, ...(answers && { answers }) });
    const [key] = questionIn(await call());
    for (const answer of [{ action: 'decline' }, { action: 'cancel' }, {}])
      assert.equal(signalIn(await call({ [key]: answer }), gateway.issuer), 'text');
    assert.equal(signalIn(await call(), gateway.issuer), 'input_required');
  },
);
