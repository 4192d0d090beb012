import type { Call, Caller, Inbound, Message, OpenStream, Reply } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { paramText, paramValue, requestIdIn, type Envelope } from './envelope.ts';
import { type EraWithSessions, methodIn } from './era.ts';
import type { InitializedClient } from './initialized-client.ts';
import { clientNameIn, type ListingClient } from './listing-client.ts';
import type { Session } from './session.ts';
import { isObject, smallMember } from '../json/index.ts';
import { LIMITS } from '../limits.ts';
import {
  isLogLevel,
  LOG_LEVELS,
  type ListKind,
  LATEST_LEGACY_REVISION,
  LEGACY_REVISIONS,
  MODERN_REVISION,
} from '../mcp/index.ts';
import { routed, type Routed } from './routed.ts';
import { answer, CAPABILITIES, cursorOf, emptyResult, listAskedFor, type ServerInfo } from './shared-answers.ts';
import type { SseConnections } from './sse-connections.ts';
import { SessionCallClient } from './session-call-client.ts';

/** The sessions of all clients; returns a promise where the session store has to be asked. */
export interface SessionKeeper {
  readonly create: (caller: Caller, client: InitializedClient) => Session | Promise<Session>;
  /** The caller's session. Throws `session_not_found`. */
  readonly use: (id: string, caller: Caller) => Session | Promise<Session>;
  readonly end: (session: Session) => void | Promise<void>;
}

export interface LegacyDeps {
  /** Clients of 2024-11-05. */
  readonly connections: Pick<SseConnections, 'open' | 'initialize' | 'streamOf'>;
  readonly sessions: SessionKeeper;
  /** Name and version of this server, at this moment. */
  readonly serverInfo: () => ServerInfo;
  readonly instructions: () => string;
  /** JSON text of the result of a list request. */
  readonly list: (kind: ListKind, cursor: string | undefined, caller: Caller, client: ListingClient) => Promise<Buffer>;
  /** Whether a client may send the header of a newer revision than that of its session. */
  readonly toleratesHeaders: () => boolean;
  /** New sessions and streams are refused while the process is stopping. */
  readonly isStopping: () => boolean;
}

/** Streamable HTTP with `initialize` and sessions. */
export const legacyEra = (deps: LegacyDeps): EraWithSessions => ({
  parse: (envelope, request, caller) => {
    if (envelope.method === 'initialize') return local(envelope, () => initialize(deps, envelope, { request, caller }));
    checkRevision(deps, request);
    const session = sessionOf(deps, request, caller);
    const arrival = { envelope, request, caller };
    return session instanceof Promise
      ? session.then((found) => messageIn(deps, found, arrival))
      : messageIn(deps, session, arrival);
  },
  listen: (request, caller) => ({
    kind: 'local',
    id: undefined,
    method: 'GET',
    answer: async () => {
      checkRevision(deps, request);
      refuseWhileStopping(deps);
      if (request.endpoint === 'sse') return deps.connections.open(caller, request.clientAddress);
      const session = await sessionOf(deps, request, caller);
      const { 'last-event-id': given } = request.headers;
      const last = typeof given === 'string' ? given : undefined;
      // The place is taken first: subscribing to the messages of other replicas takes time.
      const release = session.takePlace(last);
      await Promise.resolve(session.prepareToListen()).catch((error: unknown) => {
        release();
        throw error;
      });
      const open = (stream: OpenStream): void => {
        stream.onClosed(release);
        if (last === undefined || !session.resume(stream, last)) session.listen(stream);
      };
      return { kind: 'stream', open, abandon: release };
    },
  }),
  end: (request, caller) => ({
    kind: 'local',
    id: undefined,
    method: 'DELETE',
    answer: async () => {
      checkRevision(deps, request);
      await deps.sessions.end(await sessionOf(deps, request, caller));
      return { kind: 'whole', status: 204 };
    },
  }),
});

/** One message of a session. */
interface Arrival {
  readonly envelope: Envelope;
  readonly request: Inbound;
  readonly caller: Caller;
}

const messageIn = (deps: LegacyDeps, session: Session, arrival: Arrival): Message | Promise<Message> => {
  const { envelope } = arrival;
  if (envelope.kind === 'request') return requestIn(deps, session, arrival);
  return local(envelope, () => {
    const taken = take(session, envelope);
    return taken ? taken.then(() => accepted) : accepted;
  });
};

/** Handles a response or a notification of the client; returns a promise where another replica must be notified. */
const take = (session: Session, envelope: Envelope): void | Promise<void> => {
  if (envelope.kind === 'response') return settle(session, envelope);
  if (envelope.method === 'notifications/cancelled') return cancel(session, envelope);
  if (envelope.method === 'notifications/roots/list_changed') return session.rootsChanged(envelope.body);
};

const accepted: Reply = { kind: 'whole', status: 202 };

const local = (envelope: Envelope, answer: () => Reply | Promise<Reply>): Message => ({
  kind: 'local',
  id: envelope.id,
  method: methodIn(envelope),
  answer,
});

/** MCP "Protocol Version Header": an absent header means 2025-03-26, an unknown one is refused. */
const checkRevision = ({ toleratesHeaders }: LegacyDeps, { http, headers, sessionId }: Inbound): void => {
  const asked = headers['mcp-protocol-version'];
  const mayBeInSession = http === 'POST' || sessionId !== undefined;
  // Some clients keep naming the newest revision they know; the revision that `initialize` agreed on counts.
  if (asked === MODERN_REVISION && mayBeInSession && toleratesHeaders()) return;
  if (asked === MODERN_REVISION && http !== 'POST')
    throw new VmcpError('http_method_of_older_revision', `revision ${MODERN_REVISION} knows POST only`);
  if (asked === undefined || LEGACY_REVISIONS.some((revision) => revision === asked)) return;
  throw new VmcpError(
    'unsupported_protocol_version',
    `unsupported protocol version (supported: ${LEGACY_REVISIONS.join(', ')})`,
  );
};

const refuseWhileStopping = ({ isStopping }: LegacyDeps): void => {
  if (isStopping()) throw new VmcpError('stopping', 'the server is stopping; try again');
};

const sessionOf = (
  { sessions }: LegacyDeps,
  { sessionId: id }: Inbound,
  caller: Caller,
): Session | Promise<Session> => {
  if (id === undefined || id === '')
    throw new VmcpError('session_required', 'Mcp-Session-Id is missing; initialize first');
  return sessions.use(id, caller);
};

const initialize = async (
  deps: LegacyDeps,
  envelope: Envelope,
  { request, caller }: Pick<Arrival, 'request' | 'caller'>,
): Promise<Reply> => {
  if (!envelope.id) throw new VmcpError('not_json_rpc', 'initialize needs an id');
  refuseWhileStopping(deps);
  const protocolVersion = paramValue(envelope, 'protocolVersion');
  if (typeof protocolVersion !== 'string') throw new VmcpError('invalid_params', 'params.protocolVersion is missing');
  const revision = LEGACY_REVISIONS.find((served) => served === protocolVersion) ?? LATEST_LEGACY_REVISION;
  const clientName = clientNameIn(paramValue(envelope, 'clientInfo'));
  const client = { revision, capabilities: declaredBy(envelope), ...(clientName !== undefined && { clientName }) };
  const session = await (request.endpoint === 'messages'
    ? deps.connections.initialize(request, () => openStreamed(deps, client, { request, caller }))
    : deps.sessions.create(caller, client));
  const result = {
    protocolVersion: revision,
    capabilities: CAPABILITIES,
    serverInfo: deps.serverInfo(),
    instructions: deps.instructions(),
  };
  return { ...answer(envelope.id, Buffer.from(JSON.stringify(result))), headers: ['mcp-session-id', session.id] };
};

/** Creates a session for a client that opened its stream before `initialize` (2024-11-05). */
const openStreamed = async (
  { sessions, connections }: LegacyDeps,
  client: InitializedClient,
  { request, caller }: Pick<Arrival, 'request' | 'caller'>,
): Promise<Session> => {
  const session = await sessions.create(caller, client);
  await session.prepareToListen();
  session.listen(connections.streamOf(request));
  return session;
};

const declaredBy = (envelope: Envelope): Buffer => {
  const declared = paramText(envelope, 'capabilities') ?? emptyResult;
  if (!isObject(declared, 0)) throw new VmcpError('invalid_params', 'params.capabilities is not an object');
  if (declared.length > LIMITS.clientCapabilitiesBytes)
    throw new VmcpError('invalid_params', `params.capabilities is longer than ${LIMITS.clientCapabilitiesBytes} bytes`);
  // A copy of its own, so that the session keeps neither the whole request nor a part of Node's pool.
  const kept = Buffer.allocUnsafeSlow(declared.length);
  declared.copy(kept);
  return kept;
};

const requestIn = (deps: LegacyDeps, session: Session, arrival: Arrival): Message | Promise<Message> => {
  const { envelope, request, caller } = arrival;
  const id = envelope.id ?? Buffer.from('null');
  const named = routed(envelope, 'legacy');
  if (named) return callIn(session, arrival, { ...named, id });
  const { method } = envelope;
  const kind = listAskedFor(method);
  if (kind) {
    const client = { name: session.clientName, headers: request.headers };
    return local(envelope, async () => ({
      kind: 'page',
      id,
      page: await deps.list(kind, cursorOf(envelope), caller, client),
    }));
  }
  if (method === 'ping') return local(envelope, () => answer(id, emptyResult));
  if (method === 'logging/setLevel') return local(envelope, () => setLevel(session, envelope, id));
  throw new VmcpError('method_not_found', 'method not found');
};

const callIn = (
  session: Session,
  { envelope, request, caller }: Arrival,
  { id, method, names, name, target }: Routed & { readonly id: Buffer },
): Message | Promise<Message> => {
  const { body, params, meta, arguments: args } = envelope;
  const { signal, turn, end } = session.begin(id, request);
  if (session.logs) request.record?.(session.logs.newStream('ofCall'));
  const call: Call = {
    caller,
    method,
    name,
    names,
    origin: 'client',
    depth: 0,
    request: { bytes: body, id, target, params, meta, arguments: args },
    backendSessions: session.backendSessions,
    signal,
    client: new SessionCallClient(session, request),
  };
  const message: Message = { kind: 'call', id, call, end };
  return turn ? afterTurn(turn, message) : message;
};

/** Waits for the call's turn; a call that is cancelled before its turn is ended. */
const afterTurn = async (turn: Promise<void>, message: Message & { readonly kind: 'call' }): Promise<Message> => {
  try {
    await turn;
    return message;
  } catch (error) {
    message.end();
    throw error;
  }
};

const setLevel = async (session: Session, envelope: Envelope, id: Buffer): Promise<Reply> => {
  const level = paramValue(envelope, 'level');
  if (!isLogLevel(level)) throw new VmcpError('invalid_params', `params.level is none of ${LOG_LEVELS.join(', ')}`);
  await session.setLogLevel(level);
  return answer(id, emptyResult);
};

const settle = (session: Session, { body, id, result, error }: Envelope): void | Promise<void> => {
  if (!id) return;
  if (result) return session.settle(id, { kind: 'result', result: body.subarray(result.start, result.end) });
  if (error) return session.settle(id, { kind: 'error', error: body.subarray(error.start, error.end) });
};

/** Closing a connection cancels nothing in this era; only this notification does. */
const cancel = (session: Session, envelope: Envelope): void | Promise<void> => {
  const { body, params } = envelope;
  const reason = params && smallMember(body, params.start, 'reason');
  const requestId = requestIdIn(envelope);
  const message = typeof reason === 'string' ? reason : 'cancelled by the client';
  if (requestId) return session.cancel(requestId, new VmcpError('cancelled_by_client', message));
};
