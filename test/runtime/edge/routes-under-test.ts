import type { TestContext } from 'node:test';
import { headOf } from '../../../runtime/edge/route-request.ts';
import type { PublicRoutes } from '../../../runtime/edge/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { DONE, serveEndpoint, type ServeOptions } from '../../fixtures/endpoint.ts';
import { answerOf, type RawAnswer } from '../../fixtures/raw-client.ts';

const KIB = 1024;

/** More than the kernel takes for a client that does not. */
export const LARGE = 'z'.repeat(10 * 1024 * KIB);

const ERRORS: Readonly<Record<string, Error>> = {
  forbidden: new VmcpError('forbidden', 'this is not allowed'),
  limited: new VmcpError('rate_limited', 'too many', { data: { retryAfterSeconds: 1.5 } }),
  token: new VmcpError('invalid_token', 'a token is needed', { challenge: { scope: 'a' } }),
  broken: Object.assign(new Error('the password is hunter2'), { statusCode: 418 }),
};

const refusing: PublicRoutes = (app) => {
  app.get<{ Params: { kind: string } }>('/:kind', ({ params }) => {
    throw ERRORS[params.kind] ?? new Error();
  });
};

const withForms: PublicRoutes = (app) => {
  const asText = { parseAs: 'string' } as const;
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    asText,
    async (_request: unknown, text: string) => text,
  );
  app.post('/fixture/form', { bodyLimit: 64 * KIB }, ({ body }) => new URLSearchParams(String(body)).get('a')?.length);
};

const routesOf = (waiting: (() => void)[]): PublicRoutes => {
  const slow = async (): Promise<string> => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return 'slow';
  };
  return (app) => {
    app.get('/fixture/who', (request) => {
      const head = headOf(request);
      const { http, clientAddress, headers } = head;
      return { http, clientAddress, agent: headers['user-agent'], correlationId: head.correlationId() };
    });
    app.get('/fixture/slow', slow);
    app.post('/fixture/slow', { bodyLimit: 64 * KIB }, slow);
    app.post('/fixture/small', ({ body }) => ({ body }));
    app.put('/fixture/small', () => 'put');
    app.get('/fixture/large', () => LARGE);
    app.get('/fixture/elsewhere', (_request, reply) => reply.callNotFound());
    app.register(refusing, { prefix: '/fixture/error' });
  };
};

/** The public listener with routes beside MCP. `/fixture/slow` answers when it is told to. */
export const serveRoutes = async (t: TestContext, options: ServeOptions = {}) => {
  const waiting: (() => void)[] = [];
  const hosts = { allowedHosts: ['tools.example.com'], allowedOrigins: ['https://app.example.com'] };
  const routes = [routesOf(waiting), withForms];
  const served = await serveEndpoint(t, () => DONE, { routes, hosts, ...options });
  const urlOf = (path: string): string => new URL(path, served.url).href;
  return {
    ...served,
    urlOf,
    get: async (path: string, headers: Record<string, string> = {}): Promise<RawAnswer> =>
      answerOf(await fetch(urlOf(path), { headers })),
    /** Resolves once so many requests to `/fixture/slow` wait. */
    begun: async (count: number): Promise<void> => {
      while (waiting.length < count) await new Promise((resolve) => setImmediate(resolve));
    },
    release: (): void => {
      for (const now of waiting.splice(0)) now();
    },
  };
};
