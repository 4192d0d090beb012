import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers a call, or not; `answer` sends the result. */
export type OnCall = (response: ServerResponse, answer: () => void) => void;

/**
 * Backends of 2025-11-25 at any path of one origin, each with the tool `echo`. Requests that are no MCP go to `other`.
 */
export const startBackends = async (onCall: OnCall, other?: RequestListener): Promise<string> => {
  const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    if (request.method === 'PUT' && other) return other(request, response);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(request.method === 'GET' ? 405 : 204).end();
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: unknown; method: string };
      if (id === undefined) return response.writeHead(202).end();
      if (method === 'server/discover') return response.writeHead(404).end();
      const answer = (): void => {
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' });
        response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${RESULTS[method] ?? '{}'}}`);
      };
      return method === 'tools/call' ? onCall(response, answer) : answer();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const RESULTS: Readonly<Record<string, string>> = {
  initialize: '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}',
  'tools/list': '{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}',
  'tools/call': '{"content":[{"type":"text","text":"x"}]}',
};
