import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestHead } from '../call/index.ts';
import type { VmcpError } from '../errors.ts';
import { requestedOrigin } from './forwarded.ts';
import type { RequestShares, Ingress } from './ingress.ts';

export interface RouteRequestDeps {
  readonly ingress: Ingress;
  readonly newCorrelationId: () => string;
}

/** One request to a route beside MCP, from its arrival until it is answered. */
export class RouteRequest implements RequestHead {
  readonly http: string;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string | undefined;
  readonly held: RequestShares;
  /** Path of the URL, without the query. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Why the request is refused, once it is. */
  error: VmcpError | undefined;
  readonly #deps: RouteRequestDeps;
  #correlationId: string | undefined;
  #isAnswered = false;

  /** Counts the request from now on. */
  constructor({ raw, headers }: FastifyRequest, { raw: response }: FastifyReply, deps: RouteRequestDeps) {
    this.#deps = deps;
    this.held = deps.ingress.enter(raw, response);
    this.http = raw.method ?? '';
    this.headers = headers;
    this.path = (raw.url ?? '').split('?', 1)[0] ?? '';
    this.receivedAt = deps.ingress.clock.now();
    this.clientAddress = this.held.sender.address;
    // `callNotFound` answers past the hooks of the route's context, which would tell.
    response.on('close', () => {
      if (response.writableEnded) this.answered();
    });
  }

  origin(): string | undefined {
    return requestedOrigin(this.held.sender);
  }

  correlationId(): string {
    this.#correlationId ??= this.#deps.newCorrelationId();
    return this.#correlationId;
  }

  /**
   * The route has done its work, whether or not the client takes the answer. An answer that fails is followed by
   * another one.
   */
  answered(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#deps.ingress.stepDone(this.held);
  }
}

/** The fastify decorator that holds the `RouteRequest`. */
export const ROUTE_REQUEST = Symbol('RouteRequest');

/** Undefined for a request that reached no such route. */
export const routeRequestIn = (request: FastifyRequest): RouteRequest | undefined => {
  const route: unknown = Reflect.get(request, ROUTE_REQUEST);
  return route instanceof RouteRequest ? route : undefined;
};

export const routeRequestOf = (request: FastifyRequest): RouteRequest =>
  request.getDecorator<RouteRequest>(ROUTE_REQUEST);

/** The head of a request to one of the `PublicRoutes`, for `authenticate`. Throws for other requests. */
export const headOf = (request: FastifyRequest): RequestHead => routeRequestOf(request);

/** The path of such a request, without the query. Throws for other requests. */
export const pathOf = (request: FastifyRequest): string => routeRequestOf(request).path;
