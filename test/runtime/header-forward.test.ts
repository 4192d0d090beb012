import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { answerStatus, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { sendModern } from '../fixtures/modern-caller.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { startRuntime, configFile } from '../fixtures/runtime.ts';
import { problemsOf } from './config/files.ts';

describe('headers that every request to a backend carries', () => {
  let directory: string;
  let backend: FixtureBackend;
  let running: Running | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'vmcp-headers-'));
    backend = await startBackend({ tools: ['echo'], hasStream: true, capabilities: { tools: { listChanged: true } } });
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    await backend.close();
    await rm(directory, { recursive: true });
  });

  const file = (): string => join(directory, 'key');
  const serve = async (headerForward: object): Promise<Running> => {
    const backends = [{ name: 'a', url: backend.url, transport: 'streamable-http', headerForward }];
    running = await startRuntime(configFile({}, { backends }));
    return running;
  };
  const calls = () => backend.requests.filter(({ method }) => method === 'tools/call');

  test('are on the gateway’s own requests, on calls, streams and the end of a session, and beside what MCP needs', async () => {
    await writeFile(file(), 'of the secret\n');
    const { url } = await serve({ plaintext: { 'X-Tenant': 'blue' }, secretFiles: { 'X-Key': file() } });
    const session = await openSession(url);
    await session.toolNames();
    await session.call('a_echo', {});
    await backend.received(({ http }) => http === 'GET');
    await session.end();
    await backend.received(({ http }) => http === 'DELETE');
    const kinds = new Set(backend.requests.map(({ http, method }) => `${http} ${method ?? ''}`.trim()));
    for (const kind of ['POST initialize', 'POST tools/list', 'POST tools/call', 'GET', 'DELETE'])
      assert.ok(kinds.has(kind), `${kind} of ${[...kinds].join(', ')}`);
    for (const { headers } of backend.requests) {
      assert.deepEqual([headers['x-tenant'], headers['x-key']], ['blue', 'of the secret']);
    }
    const [call] = calls();
    assert.ok(call?.headers['mcp-session-id']);
    assert.equal(call.headers['content-type'], 'application/json');
  });

  test('hold for calls without a session, too', async () => {
    const { url } = await serve({ plaintext: { 'X-Tenant': 'blue' } });
    // A client's own header of the name says nothing to the backend.
    await sendModern(url, { headers: { 'x-tenant': 'red' } });
    assert.deepEqual(
      calls().map(({ headers }) => headers['x-tenant']),
      ['blue'],
    );
  });

  test('a rotated secret counts from the next request on', async () => {
    await writeFile(file(), 'old');
    const session = await openSession((await serve({ secretFiles: { 'X-Key': file() } })).url);
    await session.call('a_echo', {});
    await writeFile(file(), 'new');
    await session.call('a_echo', {});
    assert.deepEqual(
      calls().map(({ headers }) => headers['x-key']),
      ['old', 'new'],
    );
  });

  for (const [name, value, why] of [
    ['is missing', undefined, 'is missing or empty'],
    ['is empty', '\n', 'is missing or empty'],
    ['holds a line break', 'hunter2\r\nX-Admin: yes', 'has characters that no header has'],
  ] as const) {
    test(`where the secret ${name}, nothing is sent, and the status says which header`, async () => {
      if (value !== undefined) await writeFile(file(), value);
      const { managementUrl } = await serve({ secretFiles: { 'X-Key': file() } });
      const told = async (): Promise<string | undefined> => {
        const text = await (await fetch(new URL('/status', managementUrl))).text();
        return text.includes('the secret of header') ? text : undefined;
      };
      const status = await until('the status', told);
      assert.match(status, new RegExp(`no credential for backend .* the secret of header X-Key ${why}`));
      assert.doesNotMatch(status, /hunter2|vmcp-headers-/);
      assert.deepEqual(backend.requests, []);
    });
  }

  test('never go where a redirect leads', async () => {
    const elsewhere = await startBackend();
    backend.set({ on: () => answerStatus(307, '', { location: elsewhere.url }) });
    await serve({ plaintext: { 'X-Tenant': 'blue' } });
    await backend.received(({ method }) => method === 'initialize');
    assert.deepEqual(elsewhere.requests, []);
    await elsewhere.close();
  });
});

const refused: readonly (readonly [string, object, RegExp])[] = [
  ['a name that is none', { plaintext: { 'X Key': 'a' } }, /not a header name/],
  ['a header of the connection', { plaintext: { 'Content-Length': '1' } }, /belongs to the connection or to MCP/],
  ['a token for another runtime', { secretFiles: { 'Vmcp-Relayed-Authorization': '/etc/a' } }, /belongs to the conn/],
  ['a credential for proxies', { secretFiles: { 'Proxy-Authorization': '/etc/a' } }, /belongs to the connection/],
  ['baggage of traces', { plaintext: { Baggage: 'a=b' } }, /belongs to the connection or to MCP/],
  ['a session id', { secretFiles: { 'Mcp-Session-Id': '/etc/a' } }, /belongs to the connection or to MCP/],
  ['a parameter of a tool', { plaintext: { 'Mcp-Param-Region': 'a' } }, /belongs to the connection or to MCP/],
  ['a line break', { plaintext: { 'X-Key': 'a\r\nb' } }, /has characters that no header has/],
  ['one header twice', { plaintext: { 'X-Key': 'a' }, secretFiles: { 'x-key': '/etc/a' } }, /is set twice/],
];
for (const [name, headerForward, reason] of refused) {
  test(`of forwarded headers, ${name} is refused`, () => {
    const found = problemsOf({ backends: [{ name: 'a', url: 'https://a', transport: 'sse', headerForward }] });
    assert.ok(
      found.some((problem) => reason.test(problem.reason)),
      JSON.stringify(found),
    );
  });
}
