import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Share } from '../process/index.ts';
import {
  bodyLength,
  type Caller,
  type Inbound,
  type OnOutsideAnswer,
  type Reply,
  type StreamReply,
} from '../call/index.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { readBody, tooLarge, type BodyBounds } from './body.ts';
import { preflightHeaders } from './cors.ts';
import { acceptsEvents } from './event-stream.ts';
import { HttpExchange, type HttpExchangeDeps } from './http-exchange.ts';
import { type RequestShares, Ingress, type IngressBounds, type IngressDeps } from './ingress.ts';
import { MODERN_REVISION } from '../mcp/index.ts';
import { noSuchSession } from './sessions.ts';
import type { SseConnections } from './sse-connections.ts';
import { errorResponse } from './error-response.ts';

/** The MCP endpoint as a listener of Node's HTTP server. */
export interface EndpointDeps extends IngressDeps {
  readonly handle: (request: Inbound) => Promise<Reply>;
  readonly newCorrelationId: () => string;
  /** A request was refused before it could be read, or its answer could not be made. */
  readonly onFailure: (error: VmcpError, request: Inbound) => void;
  /** Observes refusals that the pipeline does not see. */
  readonly onOutsideAnswer: OnOutsideAnswer;
  /** Whether the process is stopping: new streams are refused. */
  readonly isStopping: () => boolean;
  readonly bounds: EndpointBounds;
  /** Clients of 2024-11-05. */
  readonly connections: Pick<SseConnections, 'sessionOf' | 'streamed' | 'answer'>;
  /**
   * Only a client with a session of its own may send a large body. A promise where the session store has to be asked.
   */
  readonly isSessionKnown: (id: string, caller: Caller) => boolean | Promise<boolean>;
}

export interface EndpointBounds extends IngressBounds {
  readonly bodyBytes: number;
  readonly bodyBytesWithoutSession: number;
}

export interface Endpoint {
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  /** The admission of requests, for other routes of the same listener. */
  readonly ingress: Ingress;
  /**
   * Resolves as soon as no request that has passed the ingress is without an answer; streams that are answers by
   * themselves do not count.
   */
  readonly idle: () => Promise<void>;
  /** Ends the streams that are answers by themselves, except those on which answers to other requests are sent. */
  readonly endStreams: () => void;
  /** Ends all streams; resolves when none is left. */
  readonly endAllStreams: () => Promise<void>;
}

/**
 * HTTP in front of the pipeline: checks the head of the request before it, sends the answer after it. The pipeline says
 * when the body is read.
 */
export const mcpEndpoint = (deps: EndpointDeps): Endpoint => {
  const ingress = new Ingress(deps);
  const { underWay } = ingress;
  const exchangeDeps: HttpExchangeDeps = {
    ...deps,
    readBody: (exchange, caller) => readBodyOf(deps, exchange, caller),
  };
  const answer = async (exchange: HttpExchange): Promise<void> => {
    const { request, held } = exchange;
    let isInPipeline = false;
    try {
      ingress.admit(held, request.headers.origin, exchange.extra);
      checkHead(request);
      const replying = replyTo(deps, request, exchange);
      isInPipeline = true;
      const reply = await replying;
      isInPipeline = false;
      if (reply.kind === 'stream') return openStream(exchange, reply, held);
      ingress.holdAnswer(held, bodyLength(reply) ?? 0);
      exchange.answer(reply);
    } catch (thrown) {
      await refuse(deps, exchange, { error: asVmcpError(thrown), isInPipeline });
      ingress.refused(held);
    } finally {
      ingress.stepDone(held);
    }
  };
  const openStream = (exchange: HttpExchange, reply: StreamReply, held: RequestShares): void => {
    if (exchange.isGone) return reply.abandon?.();
    held.isStream = true;
    const stream = exchange.stream(reply);
    underWay.becomeStream(held.client, stream, { takesAnswers: takesAnswers(exchange) });
    if (deps.isStopping() && !takesAnswers(exchange)) stream.end();
  };
  return {
    ingress,
    listener: (request, response) => {
      void answer(new HttpExchange(request, response, ingress.enter(request, response), exchangeDeps));
    },
    idle: () => underWay.idle(),
    endStreams: () => underWay.endStreams(),
    endAllStreams: () => underWay.endAllStreams(),
  };
};

interface Refusal {
  readonly error: VmcpError;
  /** The pipeline refuses, whose observers see that. */
  readonly isInPipeline: boolean;
}

/** Answers a request that could not be read. Never throws: where no answer can be written, the connection is closed. */
const refuse = async (
  { onFailure, onOutsideAnswer, clock }: EndpointDeps,
  exchange: HttpExchange,
  { error, isInPipeline }: Refusal,
): Promise<void> => {
  onFailure(error, exchange);
  try {
    const reply = errorResponse(error, { id: undefined, isUnread: true, correlationId: exchange.correlationId() });
    const { path } = exchange;
    const outside = { request: exchange, path, receivedAt: clock.now(), status: reply.status, error };
    const told = isInPipeline ? undefined : onOutsideAnswer(outside);
    if (told) await told;
    exchange.answer(reply);
  } catch (cause) {
    onFailure(asVmcpError(cause), exchange);
    exchange.cut();
  }
};

/** HTTP+SSE (2024-11-05): all answers to the client's POSTs are sent on this stream. */
const takesAnswers = ({ endpoint }: HttpExchange): boolean => endpoint === 'sse';

/** Refuses a request by its head alone. */
const checkHead = ({ method, headers }: IncomingMessage): void => {
  if (method === 'POST') checkMediaTypes(headers['content-type'], headers.accept);
  if (method === 'GET') checkEventStream(headers.accept);
};

const replyTo = (
  deps: EndpointDeps,
  { method, headers }: IncomingMessage,
  exchange: HttpExchange,
): Reply | Promise<Reply> => {
  switch (method) {
    case 'POST':
      return exchange.endpoint === 'messages' ? handleStreamed(deps, exchange) : deps.handle(exchange);
    case 'GET':
    case 'DELETE':
      return deps.handle(exchange);
    case 'OPTIONS':
      return { kind: 'whole', status: 204, headers: preflightHeaders(headers, 'POST, GET, DELETE') };
    default:
      throw new VmcpError('http_method_not_allowed', 'use POST, GET or DELETE');
  }
};

/** Reads the body of an authenticated request, up to the size that this caller may send. */
const readBodyOf = (deps: EndpointDeps, exchange: HttpExchange, caller: Caller): Promise<void> => {
  const { request, held } = exchange;
  // Every caller may send so much: for the usual call no session has to be looked up.
  if (Number(request.headers['content-length']) <= deps.bounds.bodyBytesWithoutSession)
    return readBody(request, boundsOf(deps, 'none', held.body), exchange);
  const session = exchange.endpoint === 'messages' ? deps.connections.sessionOf(exchange.query) : exchange.sessionId;
  // There are no sessions in 2026-07-28: there, only the budget of all bodies bounds them.
  const isModern = request.headers['mcp-protocol-version'] === MODERN_REVISION;
  const isKnown = session === undefined ? isModern || 'none' : deps.isSessionKnown(session, caller);
  if (!(isKnown instanceof Promise)) return readBody(request, boundsOf(deps, isKnown, held.body), exchange);
  return isKnown
    .then(
      (known) => boundsOf(deps, known, held.body),
      // The store cannot be asked now. The request is refused once its id is known, unless the body is too large to be
      // read.
      (error: unknown) => ({ ...boundsOf(deps, false, held.body), tooLarge: () => asVmcpError(error) }),
    )
    .then((bounds) => readBody(request, bounds, exchange));
};

/** The answer goes to another stream than that of the request (2024-11-05). */
const handleStreamed = async (deps: EndpointDeps, exchange: HttpExchange): Promise<Reply> => {
  const request = deps.connections.streamed(exchange);
  try {
    const reply = await deps.handle(request);
    deps.connections.answer(exchange, reply);
    return reply;
  } finally {
    request.over();
  }
};

const boundsOf = ({ bounds, clock }: EndpointDeps, isSessionKnown: boolean | 'none', share: Share): BodyBounds => {
  const { bodyBytes, bodyBytesWithoutSession, uncountedBytes, bodyYieldsMs: yieldsMs } = bounds;
  return {
    maxBytes: isSessionKnown === true ? bodyBytes : bodyBytesWithoutSession,
    tooLarge: isSessionKnown === false ? noSuchSession : tooLarge,
    uncountedBytes,
    share,
    yieldsMs,
    now: clock.now,
  };
};

/** A browser that opens this URL gets an error, not a stream that never ends. */
const checkEventStream = (accept: string | undefined): void => {
  if (accept === undefined || !acceptsEvents(accept))
    throw new VmcpError('not_acceptable', 'Accept must list text/event-stream');
};

const USUAL_ACCEPT = 'application/json, text/event-stream';

const checkMediaTypes = (contentType: string | undefined, accept: string | undefined): void => {
  if (contentType !== 'application/json' && !/^application\/json\s*(;|$)/i.test(contentType ?? '')) {
    throw new VmcpError('unsupported_media_type', 'Content-Type must be application/json');
  }
  // Answers are JSON. A client that sends no Accept takes anything (RFC 9110 §12.5.1).
  if (accept !== undefined && accept !== USUAL_ACCEPT && !/application\/json|application\/\*|\*\/\*/i.test(accept)) {
    throw new VmcpError('not_acceptable', 'Accept must list application/json and text/event-stream');
  }
};
