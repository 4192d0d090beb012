import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { COOL_DOWN_MS } from '../../../../runtime/gate/authenticate/issuer-keys.ts';
import { systemClock } from '../../../../runtime/process/index.ts';
import type { Running, StartDeps } from '../../../../runtime/start.ts';
import { until } from '../../../cluster/until.ts';
import { type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { OPAQUE, type RealProvider, startRealProvider } from '../../../fixtures/oidc-provider.ts';
import { ON_LOOPBACK } from '../../../fixtures/protected-gateway.ts';
import { memoryLog } from '../../../fixtures/memory-log.ts';
import { INITIALIZE, openSession, post } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';

const RESOURCE = 'https://mcp.example';

suite('an identity provider that is not ours', () => {
  let provider: RealProvider;
  let backend: FixtureBackend;
  before(async () => {
    provider = await startRealProvider();
    backend = await startBackend();
  });
  after(() => Promise.all([provider.close(), backend.close()]));

  const started = (audience: string, more: object = {}, deps: Partial<StartDeps> = {}): Promise<Running> =>
    startRuntime(
      configFile(
        { a: backend.url },
        {
          incomingAuth: {
            type: 'oidc',
            oidc: { issuer: provider.issuer, audience, clientId: provider.gateway.id, ...ON_LOOPBACK, ...more },
          },
        },
      ),
      {},
      { environment: (name) => (name === 'SECRET' ? provider.gateway.secret : undefined), ...deps },
    );

  const enter = async ({ url }: Running, token: string) =>
    (await post(url, INITIALIZE, { authorization: `Bearer ${token}` })).status;

  test('its JWTs are taken, with audience and scopes', async () => {
    const running = await started(RESOURCE, { scopes: ['mcp'] });
    assert.equal(await enter(running, await provider.token(RESOURCE)), 200);
    assert.equal(await enter(running, await provider.token(RESOURCE, 'other')), 403);
    assert.equal(await enter(running, await provider.token('https://other.example')), 401);
    await running.stop();
  });

  test('its opaque tokens are checked at the endpoint that it publishes', async () => {
    const running = await started(`${RESOURCE}${OPAQUE}`, { clientSecretEnv: 'SECRET' });
    const token = await provider.token(`${RESOURCE}${OPAQUE}`);
    assert.ok(!token.includes('.'));
    assert.equal(await enter(running, token), 200);
    const revoked = await provider.token(`${RESOURCE}${OPAQUE}`);
    await provider.revoke(revoked);
    assert.equal(await enter(running, revoked), 401);
    assert.equal(await enter(running, await provider.token(`https://other.example${OPAQUE}`)), 401);
    await running.stop();
  });

  test('the SDK of MCP finds it from the 401 on, and calls a tool with its token', async () => {
    const running = await started(RESOURCE, { resource: 'http://127.0.0.1:1/mcp' });
    await running.stop();
    // The public URL has to be known before: the port of the server.
    const port = Number(new URL(running.url).port);
    const again = await startRuntime(
      configFile(
        { a: backend.url },
        {
          incomingAuth: {
            type: 'oidc',
            oidc: {
              issuer: provider.issuer,
              audience: RESOURCE,
              clientId: 'vmcp',
              resource: `http://127.0.0.1:${port}/mcp`,
              ...ON_LOOPBACK,
            },
          },
        },
      ),
      { port },
    );
    const refused = await fetch(again.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    assert.equal(refused.status, 401);
    const { resourceMetadataUrl = '' } = extractWWWAuthenticateParams(refused);
    const metadata = await discoverOAuthProtectedResourceMetadata(again.url, { resourceMetadataUrl });
    assert.deepEqual(metadata.authorization_servers, [provider.issuer]);
    assert.equal(metadata.resource, again.url);
    assert.deepEqual(await discoverOAuthProtectedResourceMetadata(again.url), metadata);
    const authorization = `Bearer ${await provider.token(RESOURCE)}`;
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(again.url), { requestInit: { headers: { authorization } } }),
    );
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['a_echo'],
    );
    await client.close();
    await again.stop();
  });

  test('no call fails while its keys are replaced, and tokens of old and new keys are in use', async () => {
    const { running, pass, stop } = await withTime();
    const first = await provider.token(RESOURCE);
    const over = new AbortController();
    const counts = Array.from({ length: 6 }, () => 0);
    const statuses = new Set<number>();
    const callAgainAndAgain = async (worker: number): Promise<void> => {
      const session = await openSession(running.url, {}, bearer(first));
      for (let token = first; !over.signal.aborted; token = await provider.token(RESOURCE)) {
        const answer = await session.send(CALL, bearer(token));
        statuses.add(answer.status);
        counts[worker] = (counts[worker] ?? 0) + 1;
      }
      const { status } = await session.send(CALL, bearer(await provider.token(RESOURCE)));
      statuses.add(status);
    };
    const workers = Promise.all(counts.map((_, worker) => callAgainAndAgain(worker)));
    for (let rotation = 0; rotation < 3; rotation += 1) {
      pass(COOL_DOWN_MS);
      await provider.rotate(2);
      const before = [...counts];
      await Promise.race([
        workers,
        until('calls', async () => (counts.every((each, at) => each >= (before[at] ?? 0) + 3) ? true : undefined)),
      ]);
    }
    over.abort();
    await workers;
    assert.deepEqual([...statuses], [200]);
    await stop();
  });

  test('while it is away for an hour known keys go on and others are refused, with a line in the log', async () => {
    const { running, lines, pass, stop } = await withTime();
    provider.accessTokenSeconds = 3 * 3_600;
    const known = await provider.token(RESOURCE);
    assert.equal(await enter(running, known), 200);
    await provider.rotate(2);
    const newer = await provider.token(RESOURCE);
    await provider.beAway(true);
    pass(3_600_000);
    assert.equal(await enter(running, known), 200);
    assert.equal(await enter(running, newer), 401);
    const told = lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.ok(told.some((message) => message.endsWith('known keys go on, tokens signed with other keys are refused')));
    await provider.beAway(false);
    pass(COOL_DOWN_MS);
    assert.equal(await enter(running, newer), 200);
    assert.equal(await enter(running, known), 200);
    assert.ok(lines.some(({ message }) => message.includes('could be fetched again')));
    await stop();
  });

  /** A gateway whose clock a test can put forward. */
  const withTime = async () => {
    let aheadMs = 0;
    const { log, lines } = memoryLog();
    const clock = { ...systemClock, now: () => Date.now() + aheadMs };
    const running = await started(RESOURCE, {}, { clock, log });
    return { running, lines, pass: (ms: number) => void (aheadMs += ms), stop: () => running.stop() };
  };
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'a_echo', arguments: {} } };
