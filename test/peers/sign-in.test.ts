import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../runtime/process/index.ts';
import type { Running } from '../../runtime/start.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { openBrowser } from '../fixtures/browser.ts';
import { type RealProvider, startRealProvider } from '../fixtures/oidc-provider.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { ON_LOOPBACK } from '../fixtures/protected-gateway.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { eventsIn, type ReadEvent } from '../runtime/observe/audit/audited.ts';
import { startForeignLogin } from './foreign.ts';
import { clients, type Resource, without } from './sign-in-table.ts';
import { type Place, withForeign } from './signing-in.ts';

/** How long tokens are valid by the clock of the gateway. */
const LIFE_SECONDS = 300;

describe('clients of others sign in from the 401 on, at an identity provider of others', () => {
  let provider: RealProvider;
  let backend: FixtureBackend;
  const servers = {} as Record<Resource, Running>;
  let home: string;
  let aheadMs = 0;
  const { log, lines } = memoryLog();
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'sign-in-'));
    provider = await startRealProvider();
    provider.accessTokenSeconds = LIFE_SECONDS;
    backend = await startBackend({ tools: ['t'] });
    servers.endpoint = await started('endpoint');
    servers.origin = await started('origin');
  });
  after(async () => {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
    await Promise.all([backend.close(), provider.close()]);
    await rm(home, { recursive: true });
  });

  const started = async (kind: Resource): Promise<Running> => {
    const port = await freePortPair();
    const resource = `http://127.0.0.1:${port}${kind === 'origin' ? '' : '/mcp'}`;
    const oidc = { issuer: provider.issuer, audience: resource, clientId: 'vmcp', scopes: ['mcp'], ...ON_LOOPBACK };
    const audit = { enabled: true, logFile: logOf(kind), includeRequestData: true, includeResponseData: true };
    const more = { incomingAuth: { type: 'oidc', oidc }, audit, extensions: { audit: { mode: 'blocking' } } };
    const clock = { ...systemClock, now: () => Date.now() + aheadMs };
    return startRuntime(configFile({ a: backend.url }, more), { port }, { clock, log });
  };

  const logOf = (kind: Resource): string => join(home, `${kind}.log`);

  /** For the gateway; the identity provider goes by another clock, so the tokens that follow have to last longer. */
  const allTokensExpire = (): void => {
    aheadMs += 2 * LIFE_SECONDS * 1_000;
    provider.accessTokenSeconds += 2 * LIFE_SECONDS;
  };

  const eventsOf = async (person: string, kind: Resource): Promise<ReadEvent[]> =>
    eventsIn(await readFile(logOf(kind), 'utf8')).filter(({ subjects }) => subjects?.['user_id'] === person);

  /** A person of this name, who signs in there with a browser and a folder of their own. */
  const placeFor = async (person: string, at: Resource): Promise<Place> => ({
    url: servers[at].url,
    home: await mkdtemp(join(home, 'client-')),
    browser: openBrowser(person),
  });

  // First, since the clock of the gateway is still that of the identity provider.
  for (const name of ['Go SDK 1.8', 'rmcp 3.9'] as const)
    test(`${name} refreshes by its own clock what expires soon`, { skip: without[name] }, async (t) => {
      provider.accessTokenSeconds = 5;
      t.after(() => void (provider.accessTokenSeconds = LIFE_SECONDS));
      const client = await withForeign(name, 'legacy')(await placeFor(`soon ${name}`, 'endpoint'));
      assert.match(await client.call('a_t'), /t \{\}/);
      await client.close();
      const events = await eventsOf(`soon ${name}`, 'endpoint');
      assert.equal(new Set(events.map(({ subjects }) => subjects?.['client_id'])).size, 1);
      assert.equal(new Set(events.flatMap(({ session = [] }) => session)).size, 1);
      assert.ok(events.filter(({ type }) => type === 'login').length > 1, 'another token in the same session');
    });

  for (const [name, { signIn, sessions, at = 'endpoint', registrations = 1, skip }] of Object.entries(clients))
    test(name, { skip }, async (t) => {
      const person = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
      const client = await signIn(await placeFor(person, at));
      t.after(() => client.close());
      assert.match(await client.list(), /a_t/);
      assert.match(await client.call('a_t'), /t \{\}/);
      allTokensExpire();
      assert.match(await client.call('a_t'), /t \{\}/, 'with another token');
      const events = await eventsOf(person, at);
      const clientIds = new Set(events.map(({ subjects }) => subjects?.['client_id']));
      assert.deepEqual([clientIds.size, clientIds.has(undefined)], [registrations, false]);
      const calls = events.filter(({ type }) => type === 'mcp_tool_call');
      assert.deepEqual(
        calls.map(({ outcome, subjects }) => [outcome, subjects?.['issuer']]),
        [1, 2].map(() => ['success', provider.issuer]),
      );
      assert.equal(new Set(calls.flatMap(({ session = [] }) => session)).size, sessions);
      const logins = events.filter(({ type }) => type === 'login').map(({ outcome }) => outcome);
      assert.deepEqual(logins, ['success', 'success'], 'one for each token');
    });

  test('the Go SDK over HTTP+SSE is given tokens by hand', { skip: without['Go SDK 1.8'] }, async (t) => {
    const { url } = servers.origin;
    const client = await startForeignLogin('Go SDK 1.8', 'byHand');
    t.after(() => client.leave());
    assert.match(await client.ask(new URL('/sse', url).href, 'token none'), /"failed":".*Unauthorized/);
    const resource = new URL(url).origin;
    assert.match(await client.ask(`token ${await provider.token(resource)}`), /"ok"/);
    assert.match(await client.ask('a_t'), /t \{\}/);
    allTokensExpire();
    assert.match(await client.ask('a_t'), /"failed":".*401 Unauthorized/, 'nothing hangs');
    assert.match(await client.ask(`token ${await provider.token(resource)}`), /"ok"/);
    assert.match(await client.ask('a_t'), /t \{\}/);
  });

  test('no token is in an audit event, in the log, or with a backend', async () => {
    assert.ok(provider.issued.length > 20);
    const seen = [
      await readFile(logOf('endpoint'), 'utf8'),
      await readFile(logOf('origin'), 'utf8'),
      JSON.stringify([lines, backend.requests]),
    ].join('\n');
    assert.match(seen, /mcp_tool_call/);
    assert.deepEqual(
      provider.issued.filter((token) => seen.includes(token)),
      [],
    );
    // Nor the parts of one without which it is worth nothing.
    assert.doesNotMatch(seen, /eyJ[\w-]+\.eyJ/);
  });
});
