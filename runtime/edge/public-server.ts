import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { OnOutsideAnswer, RequestHead } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';
import { guardedRoutes, type PublicRoutes } from './guarded-routes.ts';
import { oneAtATimeServer } from './one-at-a-time.ts';
import { errorResponse } from './error-response.ts';
import { routeRequestIn } from './route-request.ts';
import { refuseUnreadable } from './unreadable-request.ts';

export interface PublicParts {
  readonly endpoint: Endpoint;
  /** Routes beside MCP; their requests pass the ingress of the endpoint. */
  readonly routes: readonly PublicRoutes[];
}

/**
 * The public listener. MCP goes straight to its endpoint, since a router and its hooks cost more than they give there;
 * everything else is a fastify route. `/health` and the answer to unknown paths are open to every Host.
 */
export const publicServer = (
  { endpoint, routes }: PublicParts,
  limits: PublicLimits,
  deps: PublicServerDeps,
): FastifyInstance => {
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: NO_BODY_BYTES,
    clientErrorHandler: refuseUnreadable,
    // A path that is not valid percent-encoding.
    frameworkErrors: (_error, request, reply) => answerUnknownPath(request, reply, deps),
    serverFactory: (handler) => {
      const server = oneAtATimeServer(
        {
          ServerResponse: responseClass(deps.isLeaving),
          keepAliveTimeout: KEEP_ALIVE_MS,
          noDelay: true,
          // A second Authorization or Host is not dropped in silence: joined by a comma, both are refused.
          joinDuplicateHeaders: true,
          requestTimeout: limits.requestMs,
          headersTimeout: Math.min(HEADERS_MS, limits.requestMs),
          connectionsCheckingInterval: CHECK_MS,
        },
        (request, response) => {
          if (isMcpPath(request.url ?? '')) endpoint.listener(request, response);
          else handler(request, response);
        },
      );
      server.maxConnections = limits.publicConnections;
      return server;
    },
  });
  app.setNotFoundHandler((request, reply) => answerUnknownPath(request, reply, deps));
  app.get('/health', () => ({ status: 'ok' }));
  app.register(guardedRoutes(routes, { ...deps, ingress: endpoint.ingress, maxBodyBytes: limits.routeBodyBytes }));
  return app;
};

export interface PublicServerDeps {
  readonly newCorrelationId: () => string;
  readonly onFailure: (error: VmcpError, request: RequestHead) => void;
  readonly onOutsideAnswer: OnOutsideAnswer;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Once the stop has begun, every answer asks the client to open a new connection, to another replica. */
  readonly isLeaving: () => boolean;
}

/**
 * Responses whose heads say `Connection: close` once the stop has begun, those to requests that came before included:
 * every head, however it is written, goes through `writeHead`.
 */
const responseClass = (isLeaving: () => boolean): typeof ServerResponse =>
  class<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    override writeHead(
      status: number,
      reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
      headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
    ): this {
      if (isLeaving()) this.shouldKeepAlive = false;
      // Any form of the three: of the two signatures this is the one with all.
      return super.writeHead(status, reason as string | undefined, headers);
    }
  };

const answerUnknownPath = (
  request: FastifyRequest,
  reply: FastifyReply,
  { newCorrelationId, onFailure, onOutsideAnswer, now }: PublicServerDeps,
): void => {
  const correlationId = newCorrelationId();
  const { method: http, headers, socket, url } = request;
  const head = { http, headers, clientAddress: socket.remoteAddress, correlationId: () => correlationId };
  const error = new VmcpError('not_found', 'nothing is served here; the MCP endpoint is /mcp');
  onFailure(error, head);
  const { status, body } = errorResponse(error, { id: undefined, correlationId });
  const path = url.split('?', 1)[0] ?? '';
  const send = (): void => void reply.code(status).type('application/json').send(body);
  // A route that answers with `callNotFound` has observers of its own.
  const route = routeRequestIn(request);
  if (route) route.error = error;
  const told = route ? undefined : onOutsideAnswer({ request: head, path, receivedAt: now(), status, error });
  if (told) void told.then(send);
  else send();
};

export interface PublicLimits {
  readonly publicConnections: number;
  /** Time for a request to arrive, head and body. */
  readonly requestMs: number;
  /** The largest `bodyLimit` of a route. */
  readonly routeBodyBytes: number;
}

/** A route takes no body, unless it asks for more. */
const NO_BODY_BYTES = 1024;
const HEADERS_MS = 10_000;
/** How often connections are checked for the two times above. */
const CHECK_MS = 5_000;

/** Longer than the idle timeouts of usual load balancers, so that they and not we close a connection. */
const KEEP_ALIVE_MS = 75_000;

/** Streamable HTTP, and the two addresses of HTTP+SSE (2024-11-05). */
const MCP_PATHS: ReadonlySet<string> = new Set(['/mcp', '/mcp/', '/', '/sse', '/messages']);

const isMcpPath = (url: string): boolean => {
  if (MCP_PATHS.has(url)) return true;
  const query = url.indexOf('?');
  return query > 0 && isMcpPath(url.slice(0, query));
};
