import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tmpdir } from 'node:os';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import type { Peer } from './processes.ts';
import { startEverything, startLite, startThroughProxy, startThroughSupergateway, startTmcp } from './servers.ts';

interface Row {
  readonly start: () => Promise<Peer>;
  readonly transport?: 'sse';
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly says: RegExp;
  /** The revision that calls have to be made in. */
  readonly revision?: string;
  /** Why it does not work yet; a row that works has to lose this. */
  readonly waits?: string;
}

const echo = { tool: 'echo', args: { message: 'x' }, says: /Echo: x/ };
const graph = { tool: 'read_graph', args: {}, says: /entities/ };
const directories = { tool: 'list_allowed_directories', args: {}, says: /Allowed directories/ };

const servers: Readonly<Record<string, Row>> = {
  'server-everything over Streamable HTTP': { start: () => startEverything('streamableHttp'), ...echo },
  'server-everything over HTTP+SSE': { start: () => startEverything('sse'), transport: 'sse', ...echo },
  'tmcp, of 2026-07-28 and before': {
    start: startTmcp,
    tool: 'greet',
    args: {},
    says: /hello of tmcp/,
    revision: '2026-07-28',
  },
  'mcp-lite, of 2025-03-26 and 2025-06-18': {
    start: startLite,
    tool: 'greet',
    args: { who: 'you' },
    says: /hello you of mcp-lite/,
    revision: '2025-03-26',
  },
  'a stdio server behind mcp-proxy, 2026-07-28': { start: () => startThroughProxy('modern'), ...graph },
  'a stdio server behind mcp-proxy, up to 2025-11-25': { start: () => startThroughProxy('legacy'), ...graph },
  'a stdio server behind mcp-proxy, HTTP+SSE': {
    start: () => startThroughProxy('sse'),
    transport: 'sse',
    ...graph,
  },
  'a stdio server behind supergateway, Streamable HTTP': {
    start: () => startThroughSupergateway('streamableHttp', tmpdir()),
    ...directories,
  },
  'a stdio server behind supergateway, HTTP+SSE': {
    start: () => startThroughSupergateway('sse', tmpdir()),
    transport: 'sse',
    ...directories,
  },
};

/** Lists the tools through a gateway of its own, and calls one. */
const tryOut = async (peer: Peer, { transport, tool, args, says, revision }: Row): Promise<void> => {
  const running = await startRuntime(
    configFile({}, { backends: [{ name: 'peer', url: peer.url, transport: transport ?? 'streamable-http' }] }),
  );
  const client = new Client({ name: 'sdk', version: '1' });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(running.url)));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes(`peer_${tool}`), names.join());
    const { content, isError } = await client.callTool({ name: `peer_${tool}`, arguments: args });
    assert.match(JSON.stringify(content), says);
    assert.ok(!isError);
    if (revision !== undefined) assert.ok(peer.revisions?.has(revision), [...(peer.revisions ?? [])].join());
  } finally {
    await client.close();
    await running.stop();
  }
};

describe('servers of others stand behind the gateway as they are', { concurrency: 3 }, () => {
  for (const [name, row] of Object.entries(servers)) {
    test(row.waits === undefined ? name : `${name}: ${row.waits}`, async () => {
      const peer = await row.start();
      try {
        if (row.waits === undefined) await tryOut(peer, row);
        else await assert.rejects(tryOut(peer, row), Error, 'it works: take `waits` away');
      } finally {
        await peer.stop();
      }
    });
  }
});
