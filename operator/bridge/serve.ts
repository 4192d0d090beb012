import type { AddressInfo } from 'node:net';
import { ByteBudget, type Clock, gracefulStop, type StopTimes } from '../../runtime/process/index.ts';
import type { Caller, RequestHead } from '../../runtime/call/index.ts';
import { hostCheck, mcpEndpoint, publicServer } from '../../runtime/edge/index.ts';
import { listen, listeningOrigin } from '../../runtime/http/index.ts';
import { BOUNDS } from './bounds.ts';
import { notServed } from './from-clients.ts';
import type { Multiplexer, MultiplexerDeps } from './multiplexer.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Host names that clients use, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
}

export interface ServeDeps {
  readonly clock: Clock;
  readonly newCorrelationId: () => string;
  readonly onFailure: MultiplexerDeps['onFailure'];
  /** A client was cut off, since it takes its answers too slowly. */
  readonly onCut: (reason: string, request: RequestHead) => void;
  /** Ends the connection to the server's container. */
  readonly detach: () => Promise<void>;
}

export interface Serving {
  /** Where the bridge listens; `/mcp` is its endpoint. */
  readonly origin: string;
  /** Lets calls end. Asked twice, it stops once. */
  readonly stop: () => Promise<void>;
}

/**
 * The container of the server gets its signal to stop at the same time and sleeps before that for as long as this takes
 * at most (`operator/plan/mcp-server/bridged.ts`).
 */
const STOP_TIMES: StopTimes = { servingMs: 5_000, callsMs: 10_000, farewellMs: 1_000 };

/** Streamable HTTP on one port, with the probes beside it. */
export const serveBridge = async (
  multiplexer: Multiplexer,
  { host, port, allowedHosts }: ServeOptions,
  deps: ServeDeps,
  times: StopTimes = STOP_TIMES,
): Promise<Serving> => {
  let isStopping = false;
  const endpoint = endpointOf(multiplexer, { allowedHosts, isStopping: () => isStopping }, deps);
  const app = publicServer({ endpoint, routes: [] }, BOUNDS, {
    ...deps,
    onOutsideAnswer: unobserved,
    now: deps.clock.now,
    isLeaving: () => isStopping,
  });
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) => {
    const isReady = multiplexer.isReady && !isStopping;
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not_ready' });
  });
  await listen(app, { host, port });
  return {
    origin: listeningOrigin(app.server.address() as AddressInfo),
    stop: gracefulStop(times, {
      clock: deps.clock,
      beUnready: () => {
        isStopping = true;
      },
      refuseNew: () => {
        multiplexer.refuseNew();
        endpoint.endStreams();
      },
      idle: endpoint.idle,
      cancelCalls: (reason) => multiplexer.close(reason),
      endStreams: endpoint.endAllStreams,
      closeListeners: () => app.close(),
      endSessions: deps.detach,
      closeRest: () => Promise.resolve(),
    }),
  };
};

interface EndpointSettings {
  readonly allowedHosts: readonly string[];
  readonly isStopping: () => boolean;
}

const endpointOf = (multiplexer: Multiplexer, { allowedHosts, isStopping }: EndpointSettings, deps: ServeDeps) => {
  const hosts = hostCheck({ allowedHosts, allowedOrigins: [], trustedProxies: [] });
  return mcpEndpoint({
    ...deps,
    onOutsideAnswer: unobserved,
    isStopping,
    hosts: () => hosts,
    handle: async (request) => {
      await request.receive(ANONYMOUS);
      return multiplexer.handle(request);
    },
    bounds: BOUNDS,
    connections: { sessionOf: refuse, streamed: refuse, answer: refuse },
    isSessionKnown: (id) => multiplexer.isSessionKnown(id),
    bodies: new ByteBudget(BOUNDS.bodyBytesTogether),
    answers: new ByteBudget(BOUNDS.responseBytesTogether),
  });
};

/** The runtime in front of the bridge audits. */
const unobserved = (): void => {};

/** Who reaches the bridge is for the network to decide. */
const ANONYMOUS: Caller = { kind: 'anonymous' };

/** Clients of 2024-11-05 have an address of their own elsewhere. */
const refuse = (): never => {
  throw notServed();
};
