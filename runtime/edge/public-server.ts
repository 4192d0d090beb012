import { createServer } from 'node:http';
import { fastify, type FastifyInstance } from 'fastify';
import type { Endpoint } from './endpoint.ts';

/**
 * The public listener. MCP goes straight to its endpoint, since a router and its hooks cost more than they give there; everything
 * else is a fastify route.
 */
export const publicServer = (endpoint: Endpoint): FastifyInstance => {
  const app = fastify({
    forceCloseConnections: true,
    serverFactory: (handler) =>
      createServer({ keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true }, (request, response) => {
        if (isMcpPath(request.url ?? '')) endpoint.listener(request, response);
        else handler(request, response);
      }),
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.get('/health', () => ({ status: 'ok' }));
  return app;
};

/** Longer than the idle timeouts of usual load balancers, so that they and not we close a connection. */
const KEEP_ALIVE_MS = 75_000;

const isMcpPath = (url: string): boolean => {
  if (url === '/mcp' || url === '/') return true;
  const query = url.indexOf('?');
  return query > 0 && isMcpPath(url.slice(0, query));
};
