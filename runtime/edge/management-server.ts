import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isLoopbackAddress } from '../http/index.ts';
import { LIMITS } from '../limits.ts';
import { hostCheck } from './hosts.ts';
import { operatorTokenCheck, type OperatorTokenSettings } from './operator-token.ts';
import type { StatusReport } from '../status/index.ts';
import { refuseUnreadable } from './unreadable-request.ts';

export interface ManagementDeps {
  readonly isReady: () => boolean;
  readonly status: () => StatusReport;
  /** Keys and audience that allow to read `/status` and to ask `/explain`, at this moment. */
  readonly access: () => OperatorTokenSettings;
  readonly now: () => number;
  /** Answers the body of `POST /explain`. */
  readonly explain: (question: Buffer) => Promise<{ readonly status: number; readonly body: object }>;
  /** Answers the body of `POST /users/revoke`. */
  readonly revokeUser: (request: Buffer) => Promise<{ readonly status: number; readonly body: object }>;
  /** Answers `GET /workflows`. */
  readonly workflows: () => object;
  readonly metrics: { readonly contentType: string; readonly text: () => string };
}

/** The management listener: probes are open, the rest is for the operator (docs/decisions.md "Management port"). */
export const managementServer = (deps: ManagementDeps): FastifyInstance => {
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_MS,
    bodyLimit: BODY_BYTES,
    clientErrorHandler: refuseUnreadable,
    http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
  });
  keepNewestConnections(app.server, LIMITS.managementConnections);
  app.addHook('onRequest', oneRequestEach);
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) =>
    reply.code(deps.isReady() ? 200 : 503).send({ status: deps.isReady() ? 'ready' : 'not_ready' }),
  );
  app.get('/metrics', (_request, reply) => reply.type(deps.metrics.contentType).send(deps.metrics.text()));
  app.register((guarded) => {
    guarded.addHook('onRequest', guard(deps));
    guarded.get('/status', (_request, reply) => reply.header('cache-control', 'no-store').send(deps.status()));
    guarded.get('/workflows', (_request, reply) => reply.header('cache-control', 'no-store').send(deps.workflows()));
    // As bytes: the arguments in a question are decided about as they are written.
    guarded.removeAllContentTypeParsers();
    guarded.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    guarded.post('/explain', { bodyLimit: QUESTION_BYTES }, async ({ body }, reply) => {
      const answer = await deps.explain(bytesOf(body));
      return reply.code(answer.status).header('cache-control', 'no-store').send(answer.body);
    });
    guarded.post('/users/revoke', { bodyLimit: USER_BYTES }, async ({ body }, reply) => {
      const answer = await deps.revokeUser(bytesOf(body));
      return reply.code(answer.status).header('cache-control', 'no-store').send(answer.body);
    });
  });
  return app;
};

const bytesOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** A connection is for one request, so that idle ones do not keep probes out; further requests on it are not read. */
const oneRequestEach = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
  reply.header('connection', 'close');
  if (reply.raw.socket !== null) return;
  reply.hijack();
  raw.socket.destroy();
};

/** Keeps at most `limit` connections open: one more closes the oldest, which is idle, since no answer takes time. */
const keepNewestConnections = (server: Server, limit: number): void => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    if (open.size <= limit) return;
    for (const oldest of open) {
      open.delete(oldest);
      oldest.destroy();
      return;
    }
  });
};

/** No request here takes long to send, and only a question has a body. */
const REQUEST_MS = 10_000;
const BODY_BYTES = 1024;
const QUESTION_BYTES = 64 * 1024;
const USER_BYTES = 8 * 1024;
const CHECK_MS = 2_000;

/**
 * Host and Origin checks for loopback without a token: DNS rebinding needs a host name, and a web page sends its
 * Origin.
 */
const loopbackOnly = hostCheck({ allowedHosts: [], allowedOrigins: [], trustedProxies: [] });

const guard =
  (deps: ManagementDeps) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const access = deps.access();
    if (access.operatorKeys.length === 0) {
      const { host, origin } = request.headers;
      if (!isLoopbackAddress(request.socket.remoteAddress ?? ''))
        await reply.code(403).send({ error: 'loopback_only' });
      else if (!loopbackOnly.isHostAllowed(host)) await reply.code(403).send({ error: 'host_not_allowed' });
      else if (origin !== undefined && !loopbackOnly.isOriginAllowed(origin, host))
        await reply.code(403).send({ error: 'origin_not_allowed' });
      return;
    }
    const isAllowed = await operatorTokenCheck(access, deps)(request.headers.authorization);
    if (!isAllowed) await reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'invalid_token' });
  };
