import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Share, type ByteBudget } from '../byte-budget.ts';
import type { Inbound, Reply, StreamReply, WholeReply } from '../call.ts';
import type { Clock } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { readBody, type BodyBounds } from './body.ts';
import type { ClientShare } from './client-shares.ts';
import { readEnvelope } from './envelope.ts';
import type { HostCheck } from './hosts.ts';
import { acceptsEvents } from './event-stream.ts';
import type { Sender } from './forwarded.ts';
import { type ExchangeBounds, HttpExchange } from './http-exchange.ts';
import { MODERN_REVISION } from '../revisions.ts';
import { RequestsUnderWay } from './requests-under-way.ts';
import { noSuchSession } from './session.ts';
import type { SseConnections } from './sse-connections.ts';
import { failureOnWire } from './wire.ts';

export interface EndpointDeps {
  /** The rules of the moment. */
  readonly hosts: () => HostCheck;
  readonly handle: (request: Inbound) => Promise<Reply>;
  readonly clock: Clock;
  readonly newCorrelationId: () => string;
  /** A request was refused before it could be read, or its answer could not be made. */
  readonly onFailure: (error: VmcpError, request: Inbound) => void;
  /** From the first word of a stop on, every answer asks the client to come back on a new connection, to another replica. */
  readonly isLeaving: () => boolean;
  /** Streams are not begun any more. */
  readonly isStopping: () => boolean;
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

export interface EndpointBounds extends ExchangeBounds {
  /** Under way at one time; streams that are answers by themselves do not count. */
  readonly requests: number;
  readonly bodyBytes: number;
  readonly bodyBytesWithoutSession: number;
  /** A body that arrives for longer gives way where there is no room for another one. */
  readonly bodyYieldsMs: number;
}

/** What one request holds until its answer is sent. */
interface Held {
  readonly sender: Sender;
  readonly client: ClientShare;
  readonly body: Share;
  readonly answer: Share;
  /** The answer is a stream, which is no request any more. */
  isStream: boolean;
  /** What is still to come: that it is answered, and that the answer is sent. */
  parts: number;
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
  const underWay = new RequestsUnderWay(deps.bounds.requests, deps);
  const answer = async ({ request, exchange, held }: Arrived): Promise<void> => {
    if (deps.isLeaving()) exchange.extra.push('connection', 'close');
    try {
      if (underWay.isTooMany(held.client)) throw tooMany();
      checkHead(deps.hosts(), { request, exchange, held });
      if (request.method === 'POST') exchange.body = await bodyOf(deps, { request, exchange, held });
      const reply = await replyTo(deps, request, exchange);
      if (reply.kind === 'stream') return openStream(exchange, reply, held);
      holdAnswer(deps, reply, held.answer);
      exchange.answer(reply);
    } catch (thrown) {
      const error = asVmcpError(thrown);
      deps.onFailure(error, exchange);
      exchange.answer(failureOnWire(error, { id: undefined, correlationId: exchange.correlationId() }));
    } finally {
      part(held);
    }
  };
  const openStream = (exchange: HttpExchange, reply: StreamReply, held: Held): void => {
    if (exchange.isGone) return reply.abandon?.();
    held.isStream = true;
    const stream = exchange.stream(reply);
    underWay.becomeStream(held.client, stream, { takesAnswers: takesAnswers(exchange) });
    if (deps.isStopping() && !takesAnswers(exchange)) stream.end();
  };
  /** Over is what is answered and sent: a client that hangs up cancels nothing, a slow one still gets the rest. */
  const part = (held: Held): void => {
    held.parts -= 1;
    if (held.parts > 0) return;
    held.body.release();
    held.answer.release();
    if (!held.isStream) underWay.leave(held.client);
  };
  return {
    listener: (request, response) => {
      const sender = deps.hosts().senderOf(request.socket.remoteAddress, request.headers);
      const client = underWay.enter(sender.address);
      const [body, answerRoom] = [new Share(client.bodies), new Share(client.answers)];
      const held = { sender, client, body, answer: answerRoom, isStream: false, parts: 2 };
      const { clock, newCorrelationId, bounds } = deps;
      const exchange = new HttpExchange({ request, response, clock, newCorrelationId, bounds, room: answerRoom });
      response.on('close', () => part(held));
      void answer({ request, exchange, held });
    },
    idle: () => underWay.idle(),
    endStreams: () => underWay.endStreams(),
    endAllStreams: () => underWay.endAllStreams(),
  };
};

/** HTTP+SSE (2024-11-05): the only way back to the client, whatever it POSTs. */
const takesAnswers = ({ endpoint }: HttpExchange): boolean => endpoint === 'sse';

interface Arrived {
  readonly request: IncomingMessage;
  readonly exchange: HttpExchange;
  readonly held: Held;
}

/** Refuses what its head alone tells; else the answer gets what web pages need. */
const checkHead = (hosts: HostCheck, { request, exchange, held }: Arrived): void => {
  const { method, headers } = request;
  exchange.clientAddress = held.sender.address;
  checkHost(hosts, held.sender.host, headers.origin, exchange.extra);
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
      return { kind: 'whole', status: 204, ...(headers.origin !== undefined && { headers: preflight(headers) }) };
    default:
      throw new VmcpError('http_method_not_allowed', 'use POST, GET or DELETE');
  }
};

const bodyOf = (deps: EndpointDeps, { request, exchange, held }: Arrived): Promise<Buffer> => {
  const { headers } = request;
  const isStreamed = exchange.endpoint === 'messages';
  const session = isStreamed ? deps.connections.sessionOf(exchange.query) : headers['mcp-session-id'];
  // Nobody has a session in 2026-07-28: there, only what all bodies hold together bounds them.
  const isModern = headers['mcp-protocol-version'] === MODERN_REVISION;
  const isKnown = typeof session === 'string' ? deps.isSessionKnown(session, exchange) : isModern || 'none';
  if (!(isKnown instanceof Promise)) return readBody(request, boundsOf(deps, isKnown, held.body));
  return isKnown
    .then(
      (known) => boundsOf(deps, known, held.body),
      // Nobody can tell now. The refusal comes once the id of the request is known, unless that is too much to read.
      (error: unknown) => ({ ...boundsOf(deps, false, held.body), tooLarge: () => asVmcpError(error) }),
    )
    .then((bounds) => readBody(request, bounds));
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

const tooMany = (): VmcpError => new VmcpError('overloaded', 'too many requests are under way; try again');

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
