import type { AddressInfo } from 'node:net';
import type { Server } from 'node:https';
import { fastify } from 'fastify';
import { listen } from '../../runtime/listen.ts';
import { type Review, type Verdict, responseTo, reviewIn } from './review.ts';
import type { Certified } from './x509.ts';

export interface AdmissionServer {
  readonly port: number;
  /** From the next handshake on; connections that are there stay. Until the first call no handshake succeeds. */
  readonly useCertificate: (certified: Certified) => void;
  readonly stop: () => Promise<void>;
}

export type Check = (review: Review) => Promise<Verdict>;

export interface AdmissionServerDeps {
  /** Path → what is asked there. */
  readonly checks: Readonly<Record<string, Check>>;
  /** Nothing is decided before everything is known. */
  readonly isReady: () => boolean;
  readonly onFailure: (error: unknown) => void;
}

/** HTTPS for the API server: `POST` an AdmissionReview, be answered with one. */
export const serveAdmission = async (port: number, deps: AdmissionServerDeps): Promise<AdmissionServer> => {
  const app = fastify({
    https: { handshakeTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // What comes in while it closes is answered all the same.
    return503OnClosing: false,
  });
  const server: Server = app.server;
  server.maxConnections = CONNECTIONS;
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.setErrorHandler((error: { readonly statusCode?: number }, _request, reply) => {
    const { statusCode = 500 } = error;
    if (statusCode >= 500) deps.onFailure(error);
    return reply.code(statusCode).send({ error: statusCode >= 500 ? 'internal' : 'bad_request' });
  });
  for (const [path, check] of Object.entries(deps.checks)) {
    app.post(path, async (request, reply) => {
      const review = reviewIn(request.body);
      if (review === undefined) return reply.code(400).send({ error: 'not_an_admission_review' });
      if (!deps.isReady()) return reply.code(503).send({ error: 'not_ready' });
      return responseTo(review, await check(review));
    });
  }
  await listen(app, { host: '::', port });
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    stop: () => app.close(),
  };
};

/** An update carries an object twice, and the API server takes requests of 3 MiB. */
const BODY_BYTES = 8 * 1024 * 1024;
const REQUEST_MS = 10_000;
const CHECK_MS = 2_000;
/** Longer than the API server keeps an idle connection (90 s), so that it never sends into one that is being closed. */
const KEEP_ALIVE_MS = 120_000;
/** API servers keep a few; anybody in the cluster can reach the port. */
const CONNECTIONS = 256;
