import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isLoopbackAddress } from '../addresses.ts';
import { LIMITS } from '../limits.ts';
import { hostCheck } from './hosts.ts';
import { keepNewestConnections } from './newest-connections.ts';
import { operatorTokenCheck, type OperatorTokenSettings } from './operator-token.ts';
import type { StatusReport } from '../status-report.ts';

export interface ManagementDeps {
  readonly isReady: () => boolean;
  readonly status: () => StatusReport;
  /** Who may read `/status`, at this moment. */
  readonly access: () => OperatorTokenSettings;
  readonly now: () => number;
}

/** The management listener: probes are open, the rest is for the operator (decisions: Management port). */
export const managementServer = (deps: ManagementDeps): FastifyInstance => {
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_MS,
    bodyLimit: BODY_BYTES,
    http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
  });
  keepNewestConnections(app.server, LIMITS.managementConnections);
  app.addHook('onRequest', oneRequestEach);
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) =>
    reply.code(deps.isReady() ? 200 : 503).send({ status: deps.isReady() ? 'ready' : 'not_ready' }),
  );
  app.register((guarded) => {
    guarded.addHook('onRequest', guard(deps));
    guarded.get('/status', (_request, reply) => reply.header('cache-control', 'no-store').send(deps.status()));
  });
  return app;
};

/** A connection is for one request, so that idle ones do not keep probes out; more that come with it are not looked at. */
const oneRequestEach = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
  reply.header('connection', 'close');
  if (reply.raw.socket !== null) return;
  reply.hijack();
  raw.socket.destroy();
};

/** Nothing here takes long to ask, or has a body. */
const REQUEST_MS = 10_000;
const BODY_BYTES = 1024;
const CHECK_MS = 2_000;

/** On loopback without a token: rebinding needs a name, and a web page says where it comes from. */
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
