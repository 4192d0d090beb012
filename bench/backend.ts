import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The server behind everything that is measured: MCP with one tool `echo`, as cheap as node:http allows. `GET /count` tells how
 * many requests have arrived. Prints its port.
 */
let count = 0;

const answers: Readonly<Record<string, (params: { arguments?: { message?: string } }) => unknown>> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: params.arguments?.message }] }),
};

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  if (request.method === 'GET') return response.end(String(count));
  count += 1;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  return request.on('end', () => {
    if (request.method === 'DELETE') return response.writeHead(204).end();
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id?: unknown;
      method: string;
      params: object;
    };
    if (id === undefined) return response.writeHead(202).end();
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]?.(params) }));
    const headers: string[] = ['content-type', 'application/json', 'content-length', String(body.length)];
    if (method === 'initialize') headers.push('mcp-session-id', randomUUID());
    return response.writeHead(200, headers).end(body);
  });
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
