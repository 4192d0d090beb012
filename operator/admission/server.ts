import type { AddressInfo } from 'node:net';
import type { Server } from 'node:https';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/process/index.ts';
import { listen } from '../../runtime/http/index.ts';
import { readHere, type ReadJson } from '../threads/read-json.ts';
import { ByteSemaphore } from '../api/byte-semaphore.ts';
import { type Review, type Verdict, responseTo, reviewIn } from './review.ts';
import type { CertificateAndKey } from './x509.ts';

export interface AdmissionServer {
  readonly port: number;
  /** From the next handshake on; connections that are there stay. Until the first call no handshake succeeds. */
  readonly useCertificate: (certified: CertificateAndKey) => void;
  /**
   * From now on each connection ends with its next response, so that the API server makes its next one to another pod:
   * the last request on a connection would meet its end.
   */
  readonly drain: () => void;
  readonly stop: () => Promise<void>;
}

/** The signal is aborted when the caller has gone. */
export type Check = (review: Review, gone: AbortSignal) => Promise<Verdict>;

export interface AdmissionServerDeps {
  /** Path → what is asked there. */
  readonly checks: Readonly<Record<string, Check>>;
  /** False until the watches are synced; requests are answered with 503 until then. */
  readonly isReady: () => boolean;
  readonly onFailure: (error: unknown) => void;
  readonly clock: Clock;
  /** Default: in this thread. */
  readonly read?: ReadJson;
  /** PEM of the authorities for client certificates. Absent: client certificates are not asked for. */
  readonly clientCa?: string | undefined;
}

/** HTTPS for the API server: `POST` an AdmissionReview, be answered with one. */
export const serveAdmission = async (port: number, deps: AdmissionServerDeps): Promise<AdmissionServer> => {
  const { clientCa: ca, read = readHere } = deps;
  const app = fastify({
    https: {
      handshakeTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
      ...(ca !== undefined && { ca, requestCert: true, rejectUnauthorized: true }),
    },
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // Requests that arrive while the server closes are answered, too.
    return503OnClosing: false,
  });
  const server: Server = app.server;
  server.maxConnections = CONNECTIONS;
  const goneOf = closeSignals(app);
  let isDraining = false;
  app.addHook('onSend', async (_request, reply) => {
    if (isDraining) reply.header('connection', 'close');
  });
  limitBodyBytes(app, deps.clock);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request: FastifyRequest, body: Buffer) =>
    read(body, { signal: goneOf(request) }).catch((error: unknown) => Promise.reject(parseError(error))),
  );
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
      return responseTo(review, await check(review, goneOf(request)));
    });
  }
  await listen(app, { host: '::', port });
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: ({ certificate, key }) =>
      server.setSecureContext({ cert: certificate, key, ...(ca !== undefined && { ca }) }),
    drain: () => {
      isDraining = true;
    },
    stop: () => app.close(),
  };
};

/** For each request a signal that is aborted when its connection closes, as the API server does when it gives up. */
const closeSignals = (app: FastifyInstance): ((request: FastifyRequest) => AbortSignal) => {
  const signals = new WeakMap<FastifyRequest, AbortSignal>();
  app.addHook('onRequest', (request, reply, done) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort(new Error('the caller has gone')));
    signals.set(request, gone.signal);
    done();
  });
  return (request) => signals.get(request) ?? AbortSignal.abort(new Error('the caller is not known'));
};

/** Limits the bytes of large bodies that are read at once: a tenant can make the API server send many of them. */
const limitBodyBytes = (app: FastifyInstance, clock: Clock): void => {
  const room = new ByteSemaphore(BODIES_BYTES, MAX_WAITING);
  app.addHook('preParsing', async (request, reply) => {
    const bytes = Number(request.headers['content-length'] ?? BODY_BYTES);
    // A larger one is refused before it is read.
    if (bytes <= SMALL_BYTES || bytes > BODY_BYTES) return;
    const guest = room.acquire(bytes);
    // The rest of the body is not waited for.
    if (guest === undefined) {
      await reply.code(503).header('connection', 'close').send({ error: 'overloaded' });
      return;
    }
    reply.raw.once('close', guest.leave);
    await guest.entered;
    const timer = clock.after(BODY_MS, () => request.raw.destroy());
    for (const end of ['end', 'close']) request.raw.once(end, () => timer.cancel());
  });
};

/** Invalid JSON is the client's error (400); any other failure is the operator's. */
const parseError = (error: unknown): unknown =>
  error instanceof Error && error.name === 'SyntaxError'
    ? Object.assign(new Error('not JSON', { cause: error }), { statusCode: 400 })
    : error;

/** An update carries an object twice, and the API server takes requests of 3 MiB. */
const BODY_BYTES = 8 * 1024 * 1024;
/** Of all bodies that are larger than … */
const BODIES_BYTES = BODY_BYTES;
/** … this. */
const SMALL_BYTES = 64 * 1024;
/**
 * Requests that wait for their turn. A later one would be read after the API server has given up, and each connection
 * takes half a megabyte.
 */
const MAX_WAITING = 32;
/** How long the body of a request may take once it is read: API servers send it all at once. */
const BODY_MS = 2_000;
const REQUEST_MS = 10_000;
const CHECK_MS = 2_000;
/** Longer than the API server keeps an idle connection (90 s), so that it never sends into one that is being closed. */
const KEEP_ALIVE_MS = 120_000;
/** API servers keep a few connections; any pod in the cluster can reach the port. */
const CONNECTIONS = 256;
