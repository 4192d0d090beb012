import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Answer, AuthServer, Route } from './auth-server/index.ts';
import { headOf, type PublicRoutes } from './edge/index.ts';
import { LIMITS } from './limits.ts';

/** Serves the authorization server, if there is one, on the public listener. */
export const authServerRoutes = (server: AuthServer | undefined): readonly PublicRoutes[] => {
  if (!server) return [];
  const routeAt = (method: string, path: string): Route | undefined =>
    server.routes().find((route) => route.method === method && route.path === path);
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const [path = '', ...query] = request.url.split('?');
    const route = routeAt(request.method, path);
    if (!route) {
      const allowed = server.routes().flatMap((each) => (each.path === path ? [each.method] : []));
      // RFC 9110 §15.5.6.
      if (allowed.length > 0)
        return reply
          .code(405)
          .headers({ allow: `${allowed.join(', ')}, OPTIONS` })
          .send();
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
  return [
    (routes) => {
      routes.removeAllContentTypeParsers();
      routes.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
      // Which paths there are depends on the providers of the moment.
      routes.get('/*', answer);
      routes.post('/*', { bodyLimit: LIMITS.routeBodyBytes }, answer);
      routes.route({ method: ['PUT', 'PATCH', 'DELETE'], url: '/*', handler: answer });
    },
  ];
};

const send = (reply: FastifyReply, { status, headers, body }: Answer): FastifyReply =>
  reply.code(status).headers(headers).send(body);
