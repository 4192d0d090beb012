import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Share, type ByteBudget } from '../byte-budget.ts';
import type { Inbound, OpenStream, Reply, StreamReply, WholeReply } from '../call.ts';
import type { Clock } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { readBody, type BodyBounds } from './body.ts';
import { readEnvelope } from './envelope.ts';
import type { HostCheck } from './hosts.ts';
import { acceptsEvents } from './event-stream.ts';
import { HttpExchange } from './http-exchange.ts';
import { MODERN_REVISION } from '../revisions.ts';
import { noSuchSession } from './session.ts';
import type { SseConnections } from './sse-connections.ts';
import { failureOnWire } from './wire.ts';

export interface EndpointDeps {
  /** The rules of the moment. */
  readonly hosts: () => HostCheck;
  readonly handle: (request: Inbound) => Promise<Reply>;
  readonly clock: Clock;
  readonly newCorrelationId: () => string;
  /** Something went wrong that the client is told only by its correlation id. */
  readonly onFailure: (error: VmcpError, request: Inbound) => void;
  /** While stopping, every answer asks the client to come back on a new connection, to another replica. */
  readonly isClosing: () => boolean;
  readonly bounds: EndpointBounds;
  /** Clients of 2024-11-05. */
  readonly connections: Pick<SseConnections, 'sessionOf' | 'streamed' | 'answer'>;
  /** Only somebody with a session may send a large body. A promise where others have to be asked. */
  readonly isSessionKnown: (id: string, request: Inbound) => boolean | Promise<boolean>;
  /** Shared by the request bodies under way. */
  readonly bodies: ByteBudget;
  /** Shared by the answers that are made or wait for their clients to take them. */
  readonly answers: ByteBudget;
}

export interface EndpointBounds {
  readonly bodyBytes: number;
  readonly bodyBytesWithoutSession: number;
  /** Of each body and of each answer: so much needs no room in `bodies` and `answers`. */
  readonly uncountedBytes: number;
}

/** What one request holds until its answer is sent. */
interface Held {
  readonly body: Share;
  readonly answer: Share;
}

export interface Endpoint {
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  /** Resolves as soon as no request is without an answer; streams that are answers by themselves do not count. */
  readonly idle: () => Promise<void>;
  /** Ends the streams that are answers by themselves, except those that answers to other requests still come on. */
  readonly endStreams: () => void;
  /** Ends these, too; resolves when none is left. */
  readonly endAllStreams: () => Promise<void>;
}

/** HTTP in front of the pipeline: everything that can be judged without reading the body, then the body, then the answer. */
export const mcpEndpoint = (deps: EndpointDeps): Endpoint => {
  /** Requests without an answer. */
  let active = 0;
  let waiting: (() => void)[] = [];
  const streams = new Map<HttpExchange, OpenStream>();
  const leave = (): void => {
    active -= 1;
    if (active > 0) return;
    for (const resume of waiting) resume();
    waiting = [];
  };
  const answer = async (request: IncomingMessage, exchange: HttpExchange, held: Held): Promise<void> => {
    if (deps.isClosing()) exchange.extra.push('connection', 'close');
    try {
      const reply = await route(deps, { request, exchange, body: held.body });
      if (reply.kind === 'stream') return openStream(exchange, reply);
      holdAnswer(deps, reply, held.answer);
      exchange.answer(reply);
    } catch (thrown) {
      const error = asVmcpError(thrown);
      if (error.code === 'internal') deps.onFailure(error, exchange);
      exchange.answer(failureOnWire(error, { id: undefined, correlationId: exchange.correlationId() }));
    }
  };
  const openStream = (exchange: HttpExchange, reply: StreamReply): void => {
    if (exchange.isGone) return;
    const stream = exchange.stream(reply);
    streams.set(exchange, stream);
    leave();
    if (deps.isClosing() && !takesAnswers(exchange)) stream.end();
  };
  return {
    listener: (request, response) => {
      active += 1;
      // Over is what is answered and sent: a client that hangs up cancels nothing, a slow one still gets the rest.
      let open = 2;
      const held = { body: new Share(deps.bodies), answer: new Share(deps.answers) };
      const part = (): void => {
        open -= 1;
        if (open > 0) return;
        held.body.release();
        held.answer.release();
        if (!streams.delete(exchange)) leave();
      };
      const { clock, newCorrelationId } = deps;
      const exchange = new HttpExchange({ request, response, clock, newCorrelationId });
      response.on('close', part);
      void answer(request, exchange, held).finally(part);
    },
    idle: () => (active === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    endStreams: () => {
      for (const [exchange, stream] of streams) if (!takesAnswers(exchange)) stream.end();
    },
    endAllStreams: async () => {
      const closed = [...streams.values()].map((stream) => new Promise<void>((resolve) => stream.onClosed(resolve)));
      for (const stream of streams.values()) stream.end();
      await Promise.all(closed);
    },
  };
};

/** HTTP+SSE (2024-11-05): the only way back to the client, whatever it POSTs. */
const takesAnswers = ({ endpoint }: HttpExchange): boolean => endpoint === 'sse';

interface Arrived {
  readonly request: IncomingMessage;
  readonly exchange: HttpExchange;
  readonly body: Share;
}

const route = (deps: EndpointDeps, { request, exchange, body }: Arrived): Reply | Promise<Reply> => {
  const { headers } = request;
  const hosts = deps.hosts();
  const { address, host } = hosts.senderOf(request.socket.remoteAddress, headers);
  exchange.clientAddress = address;
  checkHost(hosts, host, headers.origin, exchange.extra);
  switch (request.method) {
    case 'POST': {
      checkMediaTypes(headers['content-type'], headers.accept);
      const isStreamed = exchange.endpoint === 'messages';
      const session = isStreamed ? deps.connections.sessionOf(exchange.query) : headers['mcp-session-id'];
      const read = (bounds: BodyBounds): Promise<Reply> =>
        readBody(request, bounds).then((bytes) => {
          exchange.body = bytes;
          return isStreamed ? handleStreamed(deps, exchange) : deps.handle(exchange);
        });
      // Nobody has a session in 2026-07-28: there, only what all bodies hold together bounds them.
      const isModern = headers['mcp-protocol-version'] === MODERN_REVISION;
      const isKnown = typeof session === 'string' ? deps.isSessionKnown(session, exchange) : isModern || 'none';
      if (!(isKnown instanceof Promise)) return read(boundsOf(deps.bounds, isKnown, body));
      return isKnown.then((known) => read(boundsOf(deps.bounds, known, body)));
    }
    case 'GET':
      checkEventStream(headers.accept);
      return deps.handle(exchange);
    case 'DELETE':
      return deps.handle(exchange);
    case 'OPTIONS':
      return { kind: 'whole', status: 204, ...(headers.origin !== undefined && { headers: preflight(headers) }) };
    default:
      throw new VmcpError('http_method_not_allowed', 'use POST, GET or DELETE');
  }
};

/** The answer goes to another stream than that of the request (2024-11-05). */
const handleStreamed = async (deps: EndpointDeps, exchange: HttpExchange): Promise<Reply> => {
  const request = deps.connections.streamed(exchange);
  // What is no message has no answer that its sender would find on the stream.
  readEnvelope(exchange.body);
  exchange.answer({ kind: 'whole', status: 202 });
  const reply = await deps.handle(request);
  deps.connections.answer(exchange, reply);
  return reply;
};

const boundsOf = (bounds: EndpointBounds, isSessionKnown: boolean | 'none', share: Share): BodyBounds => {
  const { bodyBytes, bodyBytesWithoutSession, uncountedBytes } = bounds;
  if (isSessionKnown === true) return { maxBytes: bodyBytes, tooLarge, uncountedBytes, share };
  const refusal = isSessionKnown === 'none' ? tooLarge : noSuchSession;
  return { maxBytes: bodyBytesWithoutSession, tooLarge: refusal, uncountedBytes, share };
};

const tooLarge = (): VmcpError => new VmcpError('body_too_large', 'the request body is too large');

/** A client that takes its answers slowly, or not at all, makes us hold them. */
const holdAnswer = ({ bounds }: EndpointDeps, { body }: WholeReply, share: Share): void => {
  if (body && body.length > bounds.uncountedBytes && !share.resize(body.length))
    throw new VmcpError('overloaded', 'too many large answers are under way; try again');
};

const checkHost = (check: HostCheck, host: string | undefined, origin: string | undefined, extra: string[]): void => {
  if (!check.isHostAllowed(host)) {
    const remedy = 'use an address, the name of the Service, or a name listed in extensions.allowedHosts';
    throw new VmcpError('host_not_allowed', `this Host is not allowed; ${remedy}`);
  }
  if (origin === undefined) return;
  if (!check.isOriginAllowed(origin, host)) {
    throw new VmcpError('origin_not_allowed', 'this Origin is not allowed; list it in extensions.allowedOrigins');
  }
  extra.push(
    'access-control-allow-origin',
    origin,
    'vary',
    'Origin',
    'access-control-expose-headers',
    'Mcp-Session-Id, WWW-Authenticate, Retry-After',
  );
};

const ALLOWED_HEADERS =
  'accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id';

/** Fetch standard, "CORS-preflight": what a web page may send. The names of `Mcp-Param-*` are those of a tool's own arguments. */
const preflight = ({ 'access-control-request-headers': asked = '' }: IncomingHttpHeaders): readonly string[] => {
  const names = asked.toLowerCase().split(/[\t ]*,[\t ]*/);
  const repeated = names.filter((name) => REPEATED.test(name)).slice(0, MAX_REPEATED);
  return [
    'access-control-allow-methods',
    'POST, GET, DELETE',
    'access-control-allow-headers',
    [ALLOWED_HEADERS, ...repeated].join(', '),
    'access-control-max-age',
    '86400',
  ];
};

/** A token (RFC 9110 §5.6.2) is what a tool may ask for. */
const REPEATED = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/;

/** Arguments of one tool that are repeated in headers (docs/limits.md). */
const MAX_REPEATED = 32;

/** A browser that is pointed here gets a word, not a stream that never ends. */
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
