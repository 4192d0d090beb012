import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Running } from '../../runtime/start.ts';
import { type FixtureBackend, hang, startBackend } from '../fixtures/backend.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

/** The reference server of the MCP project, unmodified. */
const startEverything = async (port: number): Promise<ChildProcess> => {
  const program = new URL(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')).pathname;
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (text: Buffer) => text.includes('listening') && resolve());
    child.once('exit', () => reject(new Error('server-everything did not start')));
  });
  return child;
};

const stopProcess = async (child: ChildProcess): Promise<void> => {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

const connect = async (url: string): Promise<Client> => {
  const client = new Client({ name: 'sdk', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
};

describe('the SDK client, through the gateway to server-everything', () => {
  let port: number;
  let everything: ChildProcess;
  let fixture: FixtureBackend;
  let running: Running;
  let client: Client;
  before(async () => {
    port = await freePortPair();
    fixture = await startBackend();
    everything = await startEverything(port);
    running = await startRuntime(configFile({ everything: `http://127.0.0.1:${port}/mcp`, fixture: fixture.url }));
    client = await connect(running.url);
  });
  after(async () => {
    await client.close();
    await running.stop();
    await stopProcess(everything);
    await fixture.close();
  });

  covers('endpoints.mcp.single-endpoint', 'endpoints.mcp.streamable-http');
  test('lists the tools of both servers', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('everything_echo'), names.join());
    assert.ok(names.includes('fixture_echo'));
  });

  test('calls a tool whose server answers with an event stream', async () => {
    const { content } = await client.callTool({ name: 'everything_echo', arguments: { message: 'hello' } });
    assert.deepEqual(content, [{ type: 'text', text: 'Echo: hello' }]);
  });

  test('calls a tool whose server answers with JSON', async () => {
    const { content } = await client.callTool({ name: 'fixture_echo', arguments: { a: 1 } });
    assert.deepEqual(content, [{ type: 'text', text: 'echo {"a":1}' }]);
  });

  test('gets the error of the server for wrong arguments', async () => {
    const { isError } = await client.callTool({ name: 'everything_echo', arguments: {} });
    assert.equal(isError, true);
  });

  test('cancels a call, and the backend is notified', async () => {
    fixture.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const stop = new AbortController();
    const call = client.callTool({ name: 'fixture_echo', arguments: {} }, undefined, { signal: stop.signal });
    await fixture.received(({ method, body }) => method === 'tools/call' && body.includes('"arguments":{}'));
    stop.abort('enough');
    await assert.rejects(call);
    await fixture.received(({ method }) => method === 'notifications/cancelled');
    fixture.set({});
    await client.ping();
  });

  test('goes on after the server was restarted, without noticing', async () => {
    await stopProcess(everything);
    everything = await startEverything(port);
    const { content } = await client.callTool({ name: 'everything_echo', arguments: { message: 'again' } });
    assert.deepEqual(content, [{ type: 'text', text: 'Echo: again' }]);
  });

  test('is refused after its session was ended, and may begin a new one', async () => {
    const transport = new StreamableHTTPClientTransport(new URL(running.url));
    const other = new Client({ name: 'sdk', version: '1' });
    await other.connect(transport);
    await transport.terminateSession();
    await other.close();
    const next = await connect(running.url);
    assert.ok((await next.listTools()).tools.length > 0);
    await next.close();
  });
});
