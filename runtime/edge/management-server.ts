import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
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
  const app = fastify({ forceCloseConnections: true });
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

const guard =
  (deps: ManagementDeps) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const access = deps.access();
    if (access.operatorKeys.length === 0) {
      if (!isLoopback(request.socket.remoteAddress)) await reply.code(403).send({ error: 'loopback_only' });
      return;
    }
    const isAllowed = await operatorTokenCheck(access, deps)(request.headers.authorization);
    if (!isAllowed) await reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'invalid_token' });
  };

const isLoopback = (address: string | undefined): boolean =>
  address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
