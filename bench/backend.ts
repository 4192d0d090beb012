import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The server behind everything that is measured, as cheap as node:http allows. Prints its port. Its paths: `/mcp` and
 * `/2000/mcp` speak 2025-11-25, with 200 and 2,000 tools; `/modern/mcp` speaks 2026-07-28; `GET /count` tells how many
 * POST and DELETE requests have arrived, without pings: a gateway's health checks come when they come.
 */
let count = 0;

interface Request {
  readonly id?: unknown;
  readonly method: string;
  readonly params: {
    readonly cursor?: string;
    readonly name?: string;
    readonly arguments?: { readonly message?: string };
  };
}

const LARGE = 'x'.repeat(100_000);

/** About 375 bytes, as a tool with two parameters and a description has. */
const toolNamed = (name: string): object => ({
  name,
  description: `Does what ${name} is for, with some words about when to use it and what comes back. `.repeat(2),
  inputSchema: { type: 'object', properties: { message: { type: 'string' }, path: { type: 'string' } } },
});

/** Tools on one page, as the gateway has them too. */
const PAGE = 1_000;

/** JSON text of the pages of a list, as members of a result. */
const listOf = (size: number): readonly string[] => {
  const more = Array.from({ length: size - 2 }, (_, index) => toolNamed(`tool_${index}`));
  const tools = [toolNamed('echo'), toolNamed('large'), ...more];
  return Array.from({ length: Math.ceil(size / PAGE) }, (_, page) => {
    const next = (page + 1) * PAGE < size ? `"nextCursor":"${page + 1}",` : '';
    return `${next}"tools":${JSON.stringify(tools.slice(page * PAGE, (page + 1) * PAGE))}`;
  });
};

const lists = new Map([
  ['/mcp', listOf(200)],
  ['/modern/mcp', listOf(200)],
  ['/2000/mcp', listOf(2_000)],
]);

const IDENTITY = { capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1' } };

const modernMembers = '"resultType":"complete",';
const cached = '"ttlMs":1000,"cacheScope":"public",';

/** JSON text of the result. */
const resultOf = ({ method, params }: Request, path: string, isModern: boolean): string | undefined => {
  const also = isModern ? modernMembers : '';
  switch (method) {
    case 'initialize':
      return isModern ? undefined : JSON.stringify({ protocolVersion: '2025-11-25', ...IDENTITY });
    case 'server/discover':
      return isModern
        ? JSON.stringify({
            resultType: 'complete',
            ttlMs: 1_000,
            cacheScope: 'public',
            supportedVersions: ['2026-07-28'],
            ...IDENTITY,
          })
        : undefined;
    case 'tools/list':
      return `{${also}${isModern ? cached : ''}${lists.get(path)?.[Number(params.cursor ?? 0)] ?? '"tools":[]'}}`;
    case 'tools/call': {
      const text = params.name?.endsWith('large') ? LARGE : (params.arguments?.message ?? '');
      return `{${also}"content":[{"type":"text","text":"${text}"}]}`;
    }
    case 'ping':
      return '{}';
    default:
      return undefined;
  }
};

const answer = (request: IncomingMessage, response: ServerResponse, body: string): void => {
  const path = request.url ?? '';
  const message = JSON.parse(body) as Request;
  if (message.method !== 'ping') count += 1;
  if (message.id === undefined) return void response.writeHead(202).end();
  const result = resultOf(message, path, path.startsWith('/modern'));
  const outcome = result === undefined ? '"error":{"code":-32601,"message":"no such method"}' : `"result":${result}`;
  const text = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},${outcome}}`);
  const headers: string[] = ['content-type', 'application/json', 'content-length', String(text.length)];
  if (message.method === 'initialize') headers.push('mcp-session-id', randomUUID());
  response.writeHead(200, headers).end(text);
};

const endSession = (response: ServerResponse): void => {
  count += 1;
  response.writeHead(204).end();
};

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  if (request.url === '/count') return response.end(String(count));
  if (request.method === 'GET') return response.writeHead(405).end();
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  return request.on('end', () => {
    if (request.method === 'DELETE') return endSession(response);
    return answer(request, response, Buffer.concat(chunks).toString());
  });
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
