import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Running } from '../../runtime/start.ts';
import { type ConformanceServer, startConformanceServer } from '../fixtures/conformance/server.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';
import { programOf } from './processes.ts';

const inspector = programOf('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const mcpRemote = programOf('mcp-remote/dist/proxy.js');

/** What a client is told by one that it does not know. */
interface Seen {
  readonly tools: readonly string[];
  readonly answer: string;
  readonly prompts?: readonly string[];
  readonly resource?: string;
}

interface Row {
  readonly use: (url: string, home: string) => Promise<Seen>;
  /** Why it does not work yet; a row that works has to lose this. */
  readonly waits?: string;
}

const TOOL = { name: 'peer_test_simple_text', arguments: {} };
const URI = 'test://static-text';

const withSdk = async (transport: Transport): Promise<Seen> => {
  const client = new Client({ name: 'v1', version: '1' });
  await client.connect(transport);
  const seen = {
    tools: (await client.listTools()).tools.map(({ name }) => name),
    answer: JSON.stringify((await client.callTool(TOOL)).content),
    prompts: (await client.listPrompts()).prompts.map(({ name }) => name),
    resource: JSON.stringify((await client.readResource({ uri: URI })).contents),
  };
  await client.close();
  return seen;
};

const withV2 = async (url: string, mode: 'legacy' | 'auto' | { pin: string }): Promise<Seen & { era: unknown }> => {
  const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new HttpV2(new URL(url)));
  const seen = {
    era: client.getNegotiatedProtocolVersion(),
    tools: (await client.listTools()).tools.map(({ name }) => name),
    answer: JSON.stringify((await client.callTool(TOOL)).content),
    prompts: (await client.listPrompts()).prompts.map(({ name }) => name),
    resource: JSON.stringify((await client.readResource({ uri: URI })).contents),
  };
  await client.close();
  return seen;
};

const speaking = async (version: string, seen: Promise<Seen & { era: unknown }>): Promise<Seen> => {
  assert.equal((await seen).era, version);
  return seen;
};

const run = promisify(execFile);

const withInspector = async (url: string, home: string, era: 'legacy' | 'auto' | 'modern'): Promise<Seen> => {
  const ask = async (...args: readonly string[]): Promise<string> => {
    const all = ['--cli', '--transport', 'http', '--server-url', url, '--protocol-era', era, '--quiet', ...args];
    // Two of them at once must not share their files.
    const env = { ...process.env, HOME: await mkdtemp(join(home, 'inspector-')) };
    return (await run(process.execPath, [inspector, ...all], { env })).stdout;
  };
  const [tools, answer] = await Promise.all([
    ask('--method', 'tools/list'),
    ask('--method', 'tools/call', '--tool-name', TOOL.name),
  ]);
  return { tools: [...tools.matchAll(/"name": "([^"]+)"/g)].map(([, name = '']) => name), answer };
};

const withRemote = (url: string, home: string, protocol: 'legacy' | 'auto'): Promise<Seen> =>
  withSdk(
    new StdioClientTransport({
      command: process.execPath,
      args: [mcpRemote, url, '--allow-http', '--protocol', protocol, '--silent'],
      env: { ...process.env, HOME: home, MCP_REMOTE_CONFIG_DIR: home },
      stderr: 'ignore',
    }),
  );

const withAiSdk = async (url: string): Promise<Seen> => {
  const client = await createMCPClient({ transport: { type: 'http', url } });
  const tools = await client.tools();
  const answer: unknown = await tools[TOOL.name]?.execute?.({}, { toolCallId: '1', messages: [], context: {} });
  const resource = JSON.stringify(await client.readResource({ uri: URI }));
  const prompts = (await client.experimental_listPrompts()).prompts.map(({ name }) => name);
  await client.close();
  return { tools: Object.keys(tools), answer: JSON.stringify(answer), resource, prompts };
};

const NEW = '2026-07-28';
const OLD = '2025-11-25';

const clients: Readonly<Record<string, Row>> = {
  'SDK v1, Streamable HTTP': { use: (url) => withSdk(new StreamableHTTPClientTransport(new URL(url))) },
  'SDK v1, HTTP+SSE': { use: (url) => withSdk(new SSEClientTransport(new URL('/sse', url))) },
  'SDK v2, up to 2025-11-25': { use: (url) => speaking(OLD, withV2(url, 'legacy')) },
  'SDK v2, whatever the server speaks': { use: (url) => speaking(NEW, withV2(url, 'auto')) },
  'SDK v2, only 2026-07-28': { use: (url) => speaking(NEW, withV2(url, { pin: NEW })) },
  'Inspector CLI, up to 2025-11-25': { use: (url, home) => withInspector(url, home, 'legacy') },
  'Inspector CLI, whatever the server speaks': { use: (url, home) => withInspector(url, home, 'auto') },
  'Inspector CLI, only 2026-07-28': { use: (url, home) => withInspector(url, home, 'modern') },
  'mcp-remote, up to 2025-11-25': { use: (url, home) => withRemote(url, home, 'legacy') },
  'mcp-remote, whatever the server speaks': { use: (url, home) => withRemote(url, home, 'auto') },
  '@ai-sdk/mcp': { use: (url) => withAiSdk(url) },
};

describe('clients of others are served as they are', { concurrency: 3 }, () => {
  let server: ConformanceServer;
  let running: Running;
  let home: string;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'peers-'));
    server = await startConformanceServer('both');
    running = await startRuntime(configFile({ peer: server.url }));
  });
  after(async () => {
    await running.stop();
    await server.close();
    await rm(home, { recursive: true });
  });

  const tryOut = async ({ use }: Row): Promise<void> => {
    const { tools, answer, prompts, resource } = await use(running.url, home);
    assert.ok(tools.includes(TOOL.name), tools.join());
    assert.match(answer, /This is a simple text response/);
    if (prompts) assert.ok(prompts.includes('peer_test_simple_prompt'), prompts.join());
    if (resource !== undefined) assert.match(resource, /the static text resource/);
  };

  covers('endpoints.mcp.sse', 'endpoints.mcp.streamable-http');
  for (const [name, row] of Object.entries(clients)) {
    test(row.waits === undefined ? name : `${name}: ${row.waits}`, async () => {
      if (row.waits === undefined) await tryOut(row);
      else await assert.rejects(tryOut(row), Error, 'it works: take `waits` away');
    });
  }
});
