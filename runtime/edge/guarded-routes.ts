import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OnOutsideAnswer, RequestHead } from '../call/index.ts';
import { asVmcpError, type ErrorCode, VmcpError } from '../errors.ts';
import { discardBody, readBody, tooLarge, writeEarly } from './body.ts';
import { preflightHeaders } from './cors.ts';
import { pathOf, ROUTE_REQUEST, RouteRequest, type RouteRequestDeps, routeRequestOf } from './route-request.ts';
import { cutOffWhenSlow } from './slow-client.ts';
import { errorResponse } from './error-response.ts';

/**
 * Routes beside MCP, as a fastify plugin. Their requests are checked, counted and answered like those of MCP. A route
 * takes 1 KiB of body, or its own `bodyLimit` up to `LIMITS.routeBodyBytes`, knows its client by `headOf(request)`,
 * answers in one piece, and refuses by throwing a VmcpError.
 */
export type PublicRoutes = (routes: FastifyInstance) => void | Promise<void>;

export interface GuardDeps extends RouteRequestDeps {
  /** The largest `bodyLimit` that a route may have. */
  readonly maxBodyBytes: number;
  readonly onFailure: (error: VmcpError, request: RequestHead) => void;
  /** Observes every answer of these routes, preflights aside. */
  readonly onOutsideAnswer: OnOutsideAnswer;
}

/** A fastify context whose hooks guard the routes of all these plugins, and no others. */
export const guardedRoutes =
  (plugins: readonly PublicRoutes[], deps: GuardDeps) =>
  async (guarded: FastifyInstance): Promise<void> => {
    const methods = new Map<string, readonly string[]>();
    guarded.addHook('onRoute', ({ method, url, bodyLimit = 0 }) => {
      if (bodyLimit > deps.maxBodyBytes)
        throw new RangeError(`${url} asks for a bodyLimit of ${bodyLimit}; the most is ${deps.maxBodyBytes}`);
      methods.set(url, [...(methods.get(url) ?? []), method].flat());
    });
    guarded.decorateRequest(ROUTE_REQUEST, null);
    guarded.addHook('onRequest', admit(deps));
    guarded.addHook('preParsing', receive(deps));
    guarded.addHook('onSend', send(deps));
    guarded.setErrorHandler(refuse(deps));
    // Async, since fastify lets the process die of what a plugin throws at once.
    for (const plugin of plugins) await guarded.register(async (routes) => plugin(routes));
    for (const [url, allowed] of methods)
      if (!allowed.includes('OPTIONS'))
        guarded.options(
          url,
          preflight(() => allowed.join(', ')),
        );
  };

const admit =
  (deps: GuardDeps) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const route = new RouteRequest(request, reply, deps);
    request.setDecorator(ROUTE_REQUEST, route);
    const headers: string[] = [];
    try {
      deps.ingress.admit(route.held, request.headers.origin, headers);
    } finally {
      addHeaders(reply, headers);
    }
  };

/** The whole body, counted among those of all requests, whatever parser the route has for it. */
const receive =
  ({ ingress: { bounds, clock } }: GuardDeps) =>
  async (request: FastifyRequest, _reply: FastifyReply, body: Readable): Promise<Readable> => {
    const { raw, headers, routeOptions } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return body;
    const bodyBounds = {
      maxBytes: routeOptions.bodyLimit,
      tooLarge,
      uncountedBytes: bounds.uncountedBytes,
      share: routeRequestOf(request).held.body,
      yieldsMs: bounds.bodyYieldsMs,
      now: clock.now,
    };
    const whole = { body: Buffer.alloc(0) };
    await readBody(raw, bodyBounds, whole);
    return Readable.from([whole.body]);
  };

const send =
  ({ ingress, onOutsideAnswer }: GuardDeps) =>
  async (request: FastifyRequest, reply: FastifyReply, answer: unknown): Promise<void> => {
    const route = routeRequestOf(request);
    ingress.holdAnswer(route.held, bytesOf(answer));
    await told(onOutsideAnswer, route, reply.statusCode);
    await sentWhole(request);
    route.answered();
    const { bounds, clock, onCut } = ingress;
    cutOffWhenSlow({
      response: reply.raw,
      share: route.held.answer,
      bounds,
      clock,
      onCut: (reason) => onCut(reason, route),
    });
  };

const told = (onOutsideAnswer: OnOutsideAnswer, route: RouteRequest, status: number): void | Promise<void> => {
  const { path, receivedAt, error, http } = route;
  if (http !== 'OPTIONS' || error) return onOutsideAnswer({ request: route, path, receivedAt, status, error });
};

/** Streams count as 0: their buffers are not ours. */
const bytesOf = (answer: unknown): number => {
  if (typeof answer === 'string') return Buffer.byteLength(answer);
  return Buffer.isBuffer(answer) ? answer.length : 0;
};

/** A connection that closes after its answer must not break while the client still sends. */
const sentWhole = async ({ raw }: FastifyRequest): Promise<void> => {
  if (!raw.complete && !raw.destroyed) await new Promise<void>((resolve) => discardBody(raw, resolve));
};

const refuse =
  ({ onFailure, onOutsideAnswer, ingress }: GuardDeps) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const route = routeRequestOf(request);
    const error = refusalIn(thrown);
    route.error = error;
    onFailure(error, route);
    const failed = { id: undefined, isPlain: true, correlationId: route.correlationId() } as const;
    const { status, headers = [], body } = errorResponse(error, failed);
    addHeaders(reply, headers);
    if (request.raw.complete) return reply.code(status).type('application/json').send(body);
    // The rest of the request is discarded and counts no longer.
    ingress.refused(route.held);
    const { raw } = reply.hijack();
    const write = (): void => {
      raw.writeHead(status, { 'content-type': 'application/json', 'content-length': body?.length ?? 0 });
      writeEarly(request.raw, raw, body);
    };
    const telling = told(onOutsideAnswer, route, status);
    if (telling) void telling.then(write);
    else write();
    return reply;
  };

const refusalIn = (thrown: unknown): VmcpError => {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const refusal = REFUSALS_OF_FASTIFY.get(code);
  return refusal ? new VmcpError(...refusal) : asVmcpError(thrown);
};

/** What fastify refuses before a route is asked, by its codes (fastify.dev, "Errors"). */
const REFUSALS_OF_FASTIFY: ReadonlyMap<unknown, readonly [ErrorCode, string]> = new Map([
  ['FST_ERR_CTP_BODY_TOO_LARGE', ['body_too_large', tooLarge().message]],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', ['unsupported_media_type', 'a body of this Content-Type is not taken here']],
  ['FST_ERR_CTP_EMPTY_JSON_BODY', ['not_json', 'the request body is empty, and no JSON']],
  ['FST_ERR_CTP_INVALID_JSON_BODY', ['not_json', 'the request body is no JSON']],
]);

/** Answers preflights; `methodsAt` gives the methods that there are at a path, as a header has them. */
export const preflight =
  (methodsAt: (path: string) => string) =>
  (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    addHeaders(reply, preflightHeaders(request.headers, methodsAt(pathOf(request))));
    return reply.code(204).send();
  };

/**
 * Names and values in turn; on the response itself, so that an answer that is written without fastify (`reply.hijack`)
 * has them, too.
 */
const addHeaders = ({ raw }: FastifyReply, headers: readonly string[]): void => {
  for (let at = 0; at < headers.length; at += 2) raw.setHeader(headers[at] ?? '', headers[at + 1] ?? '');
};
