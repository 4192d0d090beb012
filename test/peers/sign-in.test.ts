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
import { missing } from './foreign.ts';
import { type SignIn, withInspector, withMcpRemote, withPython, withSdkV1, withSdkV2 } from './signing-in.ts';

/** `origin`: the server names itself as `https://host`, of which all its endpoints are a part. */
type Resource = 'endpoint' | 'origin';

interface Row {
  readonly signIn: SignIn;
  /** How many sessions two calls of a tool are in. */
  readonly sessions: 0 | 1 | 2;
  readonly at?: Resource;
  readonly skip?: string | undefined;
}

const python = await missing('mcp 2.3');

/** Clients that find out where to sign in from the first refusal, and what they do when their token expires. */
const clients: Readonly<Record<string, Row>> = {
  'SDK v1, Streamable HTTP': { signIn: withSdkV1('Streamable HTTP'), sessions: 1 },
  'SDK v1, Streamable HTTP, at an origin': { signIn: withSdkV1('Streamable HTTP'), sessions: 1, at: 'origin' },
  'SDK v1, HTTP+SSE, at an origin': { signIn: withSdkV1('HTTP+SSE'), sessions: 1, at: 'origin' },
  'SDK v2, up to 2025-11-25': { signIn: withSdkV2('legacy'), sessions: 1 },
  'SDK v2, whatever the server speaks': { signIn: withSdkV2('auto'), sessions: 0 },
  'SDK v2, whatever the server speaks, at an origin': { signIn: withSdkV2('auto'), sessions: 0, at: 'origin' },
  'mcp 2.3 for Python, up to 2025-11-25': { signIn: withPython('legacy'), sessions: 1, skip: python },
  'mcp 2.3 for Python, whatever the server speaks': { signIn: withPython('auto'), sessions: 0, skip: python },
  'mcp-remote, up to 2025-11-25': { signIn: withMcpRemote('legacy'), sessions: 1 },
  'mcp-remote, whatever the server speaks': { signIn: withMcpRemote('auto'), sessions: 0 },
  'mcp-remote, whatever the server speaks, at an origin': { signIn: withMcpRemote('auto'), sessions: 0, at: 'origin' },
  // Each command is a program of its own.
  'Inspector CLI, up to 2025-11-25': { signIn: withInspector('legacy'), sessions: 2 },
  'Inspector CLI, whatever the server speaks': { signIn: withInspector('auto'), sessions: 0 },
};

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

  for (const [name, { signIn, sessions, at = 'endpoint', skip }] of Object.entries(clients))
    test(name, { skip }, async (t) => {
      const person = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
      const place = { url: servers[at].url, home: await mkdtemp(join(home, 'client-')), browser: openBrowser(person) };
      const client = await signIn(place);
      t.after(() => client.close());
      assert.match(await client.list(), /a_t/);
      assert.match(await client.call('a_t'), /t \{\}/);
      allTokensExpire();
      assert.match(await client.call('a_t'), /t \{\}/, 'with another token');
      const events = await eventsOf(person, at);
      const clientIds = new Set(events.map(({ subjects }) => subjects?.['client_id']));
      assert.deepEqual([clientIds.size, clientIds.has(undefined)], [1, false]);
      const calls = events.filter(({ type }) => type === 'mcp_tool_call');
      assert.deepEqual(
        calls.map(({ outcome, subjects }) => [outcome, subjects?.['issuer']]),
        [1, 2].map(() => ['success', provider.issuer]),
      );
      assert.equal(new Set(calls.flatMap(({ session = [] }) => session)).size, sessions);
      const logins = events.filter(({ type }) => type === 'login').map(({ outcome }) => outcome);
      assert.deepEqual(logins, ['success', 'success'], 'one for each token');
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
