import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/**
 * The floor: node:http in, undici `Pool.request` and `pipe` out, nothing parsed. Takes the origin to forward to; prints
 * its port.
 */
const pool = new Pool(process.argv[2] ?? '', { connections: 128 });

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  const { 'content-type': type, accept, 'mcp-session-id': session } = request.headers;
  const headers = { 'content-type': type, accept, ...(session !== undefined && { 'mcp-session-id': session }) };
  pool
    .request({ path: request.url ?? '/', method: 'POST', headers, body: request })
    .then(({ statusCode, headers, body }) => {
      response.writeHead(statusCode, headers);
      return body.pipe(response);
    })
    .catch(() => response.writeHead(502).end());
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
