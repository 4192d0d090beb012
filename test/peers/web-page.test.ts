import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { type Chromium, noChromium, startChromium } from '../fixtures/chromium.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { type RealProvider, startRealProvider } from '../fixtures/oidc-provider.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { ON_LOOPBACK } from '../fixtures/protected-gateway.ts';
import { INITIALIZE, JSON_HEADERS } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import type { Shown, Task } from './web-application.ts';
import { serveWebPages, type WebPages } from './web-pages.ts';

/** What a page asks for with `fetch`. */
interface Asked {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a page is let see. */
interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Of the page's own code. */
const ask = (page: Page, asked: Asked): Promise<Seen> =>
  page.evaluate(async ({ url, ...how }) => {
    const response = await fetch(url, how);
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  }, asked);

/** A stream that the page reads, once its head is there. Answers what it read until `last` came. */
const openStream = async (page: Page, asked: Asked): Promise<(last: string) => Promise<string>> => {
  const reader = await page.evaluateHandle(async ({ url, ...how }) => {
    const response = await fetch(url, how);
    if (!response.ok || !response.body) throw new Error(`no stream: ${response.status} ${await response.text()}`);
    return response.body.pipeThrough(new TextDecoderStream()).getReader();
  }, asked);
  return (last) =>
    reader.evaluate(async (stream, awaited) => {
      let text = '';
      while (!text.includes(awaited)) {
        const { done, value } = await stream.read();
        if (done) throw new Error(`the stream has ended: ${text}`);
        text += value;
      }
      return text;
    }, last);
};

const REGION = { type: 'string', 'x-mcp-header': 'Region' };
const REGIONAL = JSON.stringify({ name: 'regional', inputSchema: { type: 'object', properties: { region: REGION } } });
const LISTED = { tools: ['plain', REGIONAL], hasStream: true, capabilities: { tools: { listChanged: true } } };
const CHANGED = 'notifications/tools/list_changed';
const META = 'io.modelcontextprotocol/';

describe('a page in a real browser, of another origin than the endpoint', { skip: noChromium }, () => {
  let chromium: Chromium;
  let pages: WebPages;
  let provider: RealProvider;
  let backend: FixtureBackend;
  let secured: Running;
  let open: Running;
  const { log, lines } = memoryLog();

  before(async () => {
    [chromium, pages, provider, backend] = await Promise.all([
      startChromium(),
      serveWebPages(),
      startRealProvider(),
      startBackend(LISTED),
    ]);
    const extensions = { allowedOrigins: [pages.originOf('app')] };
    const port = await freePortPair();
    const audience = `http://127.0.0.1:${port}/mcp`;
    const oidc = { issuer: provider.issuer, audience, clientId: 'vmcp', scopes: ['mcp'], ...ON_LOOPBACK };
    const more = { incomingAuth: { type: 'oidc', oidc }, extensions };
    secured = await startRuntime(configFile({ a: backend.url }, more), { port }, { log });
    open = await startRuntime(configFile({ a: backend.url }, { extensions }), {}, { log });
  });
  after(async () => {
    await chromium.stop();
    await Promise.all([secured.stop(), open.stop()]);
    await Promise.all([backend.close(), provider.close(), pages.close()]);
  });

  const pageOf = async (name: string) => {
    const opened = await chromium.open();
    await opened.page.goto(pages.originOf(name));
    return opened;
  };

  const json = (message: object, headers: Readonly<Record<string, string>> = {}): Omit<Asked, 'url'> => ({
    method: 'POST',
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify(message),
  });

  let added: readonly string[] = [];
  const addTool = async (name: string): Promise<void> => {
    await until('both gateways hear of changes', async () => backend.streams.size > 1 || undefined);
    added = [...added, name];
    backend.set({ ...LISTED, tools: [...LISTED.tools, ...added] });
    backend.tell(`{"jsonrpc":"2.0","method":"${CHANGED}"}`);
  };

  test('reads the refusal, where to sign in, its session, lists and streams', async () => {
    const { url } = secured;
    const { page } = await pageOf('app');
    const refusal = await ask(page, { url, ...json(INITIALIZE) });
    assert.equal(refusal.status, 401);
    const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(refusal.headers['www-authenticate'] ?? '') ?? [];
    const metadata = JSON.parse((await ask(page, { url: metadataUrl })).text) as Record<string, unknown>;
    assert.deepEqual([metadata['resource'], metadata['authorization_servers']], [url, [provider.issuer]]);

    const authorization = `Bearer ${await provider.token(url)}`;
    const { headers } = await ask(page, { url, ...json(INITIALIZE, { authorization }) });
    const session = { authorization, 'mcp-session-id': headers['mcp-session-id'] ?? '' };
    assert.match(session['mcp-session-id'], /^\S{16,}$/);
    const inSession = { ...session, 'mcp-protocol-version': '2025-11-25' };
    const list = json({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, inSession);
    assert.match((await ask(page, { url, ...list })).text, /"a_plain"/);

    const readUntil = await openStream(page, { url, headers: { ...inSession, accept: 'text/event-stream' } });
    await addTool('another');
    await readUntil(CHANGED);
    assert.match((await ask(page, { url, ...list })).text, /"a_another"/);

    const end = await ask(page, { url, method: 'DELETE', headers: inSession });
    assert.equal(end.status, 204);
    assert.equal((await ask(page, { url, ...list })).status, 404, 'the session has ended');
  });

  test('of 2026-07-28 reads answers and streams, and repeats arguments in headers', async () => {
    const { url } = secured;
    const { page } = await pageOf('app');
    const authorization = `Bearer ${await provider.token(url)}`;
    const modern = (method: string, params: object, more: Readonly<Record<string, string>> = {}) => {
      const _meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {} };
      const headers = { authorization, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...more };
      return { url, ...json({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers) };
    };
    const call = { name: 'a_regional', arguments: { region: 'eu' } };
    const named = { 'mcp-name': 'a_regional' };
    const answer = await ask(page, modern('tools/call', call, { ...named, 'mcp-param-region': 'eu' }));
    assert.match(answer.text, /regional \{\\"region\\":\\"eu\\"\}/);
    const other = await ask(page, modern('tools/call', call, { ...named, 'mcp-param-region': 'us' }));
    assert.deepEqual([other.status, /-32020/.test(other.text)], [400, true]);

    const readUntil = await openStream(
      page,
      modern('subscriptions/listen', { notifications: { toolsListChanged: true } }),
    );
    await addTool('one-more');
    await readUntil(CHANGED);
  });

  for (const [sdk, revision, regional] of [
    ['v1', '2025-11-25', /regional \{\\"region\\":\\"eu\\"\}/],
    // In browsers it does not repeat arguments.
    ['v2', '2026-07-28', /the header mcp-param-region does not match the arguments/],
  ] as const)
    test(`signs in from the 401 on with the SDK ${sdk}, and calls tools`, async () => {
      const application = `${pages.originOf('app')}/application`;
      const { page } = await chromium.open();
      const clientId = await provider.register(application);
      const task: Record<keyof Task, string> = { sdk, url: secured.url, clientId };
      await page.goto(`${application}?${new URLSearchParams(task).toString()}`);
      await page.fill('[name=login]', `person of ${sdk}`);
      await page.fill('[name=password]', 'any');
      await page.click('[type=submit]');
      await page.click('[type=submit]');
      await page.waitForURL(`${application}?code=**`);
      await page.waitForFunction('document.body.textContent');
      const shown = JSON.parse((await page.textContent('body')) ?? '') as Shown;
      assert.equal(shown.revision, revision);
      assert.ok(shown.tools.includes('a_regional'), shown.tools.join());
      assert.match(shown.plain, /plain \{/);
      assert.match(shown.regional, regional);
    });

  test('reads over HTTP+SSE where to send messages, unless its origin is foreign', async () => {
    const opened = async (name: string): Promise<string> =>
      (await pageOf(name)).page.evaluate(async (address) => {
        const source = new EventSource(address);
        const told = new Promise<string>((resolve) => {
          source.addEventListener('endpoint', (event) => resolve(String((event as MessageEvent).data)));
          source.addEventListener('error', () => resolve('refused'));
        });
        return told.finally(() => source.close());
      }, new URL('/sse', open.url).href);
    assert.match(await opened('app'), /^messages\?sessionId=\S{16}/);
    assert.equal(await opened('evil'), 'refused');
  });

  const refusedOrigins = (): number => lines.filter(({ fields }) => fields['code'] === 'origin_not_allowed').length;

  test('of a foreign origin reads nothing, and what it sends goes no further', async () => {
    const { page, complaints } = await pageOf('evil');
    const authorization = `Bearer ${await provider.token(secured.url)}`;
    for (const { url } of [secured, open]) {
      await assert.rejects(ask(page, { url, ...json(INITIALIZE, { authorization }) }), /Failed to fetch/);
      await assert.rejects(ask(page, { url }), /Failed to fetch/);
    }
    const metadata = new URL('/.well-known/oauth-protected-resource', secured.url).href;
    await assert.rejects(ask(page, { url: metadata }), /Failed to fetch/);
    assert.ok(complaints.every((complaint) => /CORS policy|ERR_FAILED/.test(complaint)) && complaints.length > 0);

    // What browsers send without asking first.
    const refused = refusedOrigins();
    const simple = { url: open.url, body: JSON.stringify(INITIALIZE) };
    await page.evaluate(
      async ({ url, body }) => void (await fetch(url, { method: 'POST', mode: 'no-cors', body })),
      simple,
    );
    const form = `<form method="post" enctype="text/plain" action="${open.url}"><input name='{"x":"' value='"}'></form>`;
    await page.setContent(form);
    const [answer] = await Promise.all([page.waitForNavigation(), page.evaluate('document.forms[0].submit()')]);
    assert.equal(answer?.status(), 403);
    assert.equal(refusedOrigins() - refused, 2);
  });

  test('in a sandbox has no origin, and reads nothing', async () => {
    const { page } = await pageOf('app');
    await page.setContent('<iframe sandbox="allow-scripts" srcdoc="<title>framed</title>"></iframe>');
    const framed = page
      .frames()
      .at(-1)
      ?.evaluate((url) => fetch(url).then(String, String), open.url);
    assert.equal(await framed, 'TypeError: Failed to fetch');
    // As everywhere else where its origin is allowed.
    assert.equal((await ask(page, { url: open.url })).status, 400);
  });

  test('whose name leads to the gateway is refused by that name', async () => {
    const { page } = await chromium.open();
    const rebound = new URL(open.url);
    rebound.hostname = 'evil.localhost';
    assert.equal((await page.goto(rebound.href))?.status(), 403);
    const { status, text, headers } = await ask(page, { url: rebound.href, ...json(INITIALIZE) });
    assert.deepEqual([status, headers['mcp-session-id']], [403, undefined]);
    assert.match(text, /this Host is not allowed/);
  });
});
