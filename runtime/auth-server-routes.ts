import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Answer, AuthServer, Route } from './auth-server/index.ts';
import { headOf, pathOf, preflight, type PublicRoutes } from './edge/index.ts';
import { LIMITS } from './limits.ts';

/** Serves the authorization server, if there is one, on the public listener. */
export const authServerRoutes = (server: AuthServer | undefined): readonly PublicRoutes[] => {
  if (!server) return [];
  const routesAt = (path: string): readonly Route[] => server.routes().filter((route) => route.path === path);
  // Before the body is read: what is wrong is not its size.
  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const methods = routesAt(pathOf(request)).map(({ method }): string => method);
    if (methods.length === 0 || [...methods, 'OPTIONS'].includes(request.method)) return undefined;
    // RFC 9110 §15.5.6.
    return reply
      .code(405)
      .headers({ allow: [...methods, 'OPTIONS'].join(', ') })
      .send();
  };
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const [, ...query] = request.url.split('?');
    const route = routesAt(pathOf(request)).find(({ method }) => method === request.method);
    if (!route) {
      reply.callNotFound();
      return reply;
    }
    const { headers, body } = request;
    const head = headOf(request);
    return send(
      reply,
      await route.answer({
        query: query.join('?'),
        cookie: headers.cookie,
        contentType: headers['content-type'],
        authorization: headers.authorization,
        body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
        address: head.clientAddress,
        userAgent: headers['user-agent'],
        correlationId: () => head.correlationId(),
      }),
    );
  };
  // A page may ask for what is not there, too: it reads a 404, as other clients do.
  const methodsAt = (path: string): string =>
    routesAt(path)
      .map(({ method }) => method)
      .join(', ') || 'GET, POST';
  return [
    (routes) => {
      routes.removeAllContentTypeParsers();
      routes.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
      routes.addHook('onRequest', refuseMethod);
      // Which paths there are depends on the providers of the moment.
      routes.get('/*', answer);
      routes.post('/*', { bodyLimit: LIMITS.routeBodyBytes }, answer);
      routes.route({ method: ['PUT', 'PATCH', 'DELETE'], url: '/*', handler: answer });
      routes.options('/*', preflight(methodsAt));
    },
  ];
};

const send = (reply: FastifyReply, { status, headers, body }: Answer): FastifyReply =>
  reply.code(status).headers(headers).send(body);
