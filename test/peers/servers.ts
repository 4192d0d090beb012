import { McpServer as LiteServer, StreamableHttpTransport } from 'mcp-lite';
import { McpServer as TmcpServer } from 'tmcp';
import { HttpTransport } from '@tmcp/transport-http';
import { type Peer, programOf, serveFetch, startProcess } from './processes.ts';

const everything = programOf('@modelcontextprotocol/server-everything/dist/index.js');
const memory = programOf('@modelcontextprotocol/server-memory/dist/index.js');
const filesystem = programOf('@modelcontextprotocol/server-filesystem/dist/index.js');
const mcpProxy = programOf('mcp-proxy/dist/bin/mcp-proxy.mjs');
const supergateway = programOf('supergateway/dist/index.js');

const stdio = (program: string, ...args: string[]): string[] => [process.execPath, program, ...args];

/** The project's reference server, up to 2025-11-25. */
export const startEverything = (transport: 'streamableHttp' | 'sse'): Promise<Peer> =>
  startProcess(
    everything,
    () => [transport],
    transport === 'sse' ? '/sse' : '/mcp',
    (port) => ({ PORT: String(port) }),
  );

/** Another implementation, up to 2026-07-28. */
export const startTmcp = (): Promise<Peer> => {
  const server = new TmcpServer(
    { name: 'tmcp', version: '1', description: 'a server' },
    { adapter: undefined, capabilities: { tools: { listChanged: true } } },
  );
  server.tool({ name: 'greet', description: 'Greets.' }, () => ({
    content: [{ type: 'text', text: 'hello of tmcp' }],
  }));
  const transport = new HttpTransport(server, { path: '/mcp' });
  return serveFetch((request) => transport.respond(request));
};

/** Another implementation, 2025-03-26 and 2025-06-18. */
export const startLite = (): Promise<Peer> => {
  const server = new LiteServer({ name: 'mcp-lite', version: '1' });
  server.tool('greet', {
    description: 'Greets.',
    inputSchema: { type: 'object', properties: { who: { type: 'string' } } },
    handler: (args: { who?: string }) => ({ content: [{ type: 'text', text: `hello ${args.who ?? ''} of mcp-lite` }] }),
  });
  return serveFetch(new StreamableHttpTransport().bind(server));
};

/** A server of stdio, the memory, behind the bridge `mcp-proxy`. */
export const startThroughProxy = (mode: 'modern' | 'legacy' | 'sse'): Promise<Peer> =>
  startProcess(
    mcpProxy,
    (port) => [
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--server',
      mode === 'sse' ? 'sse' : 'stream',
      ...(mode === 'legacy' ? ['--no-modern'] : []),
      '--',
      ...stdio(memory),
    ],
    mode === 'sse' ? '/sse' : '/mcp',
    (port) => ({ MEMORY_FILE_PATH: `/nonexistent/${port}.jsonl` }),
  );

/** A server of stdio, the file system, behind the bridge `supergateway`. */
export const startThroughSupergateway = (mode: 'streamableHttp' | 'sse', directory: string): Promise<Peer> =>
  startProcess(
    supergateway,
    (port) => [
      '--port',
      String(port),
      '--logLevel',
      'none',
      '--outputTransport',
      mode,
      ...(mode === 'streamableHttp' ? ['--stateful'] : []),
      '--stdio',
      stdio(filesystem, directory).join(' '),
    ],
    mode === 'sse' ? '/sse' : '/mcp',
  );
