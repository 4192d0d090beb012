import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PublicRoutes } from './guarded-routes.ts';
import { pathOf } from './route-request.ts';

const PATH = '/.well-known/oauth-protected-resource';

/**
 * The protected-resource metadata (RFC 9728) at every address that clients form of the endpoint's. `metadataAt` gives
 * the JSON text for a path; undefined: nothing is there.
 */
export const protectedResourceRoutes = (metadataAt: (path: string) => string | undefined): PublicRoutes => {
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const metadata = metadataAt(pathOf(request));
    if (metadata === undefined) {
      reply.callNotFound();
      return reply;
    }
    return reply.type('application/json').send(metadata);
  };
  return (routes) => {
    routes.get(PATH, answer);
    routes.get(`${PATH}/*`, answer);
  };
};
