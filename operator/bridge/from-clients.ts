import type { Inbound, OpenStream, Reply, WholeReply } from '../../runtime/call/index.ts';
import type { Clock } from '../../runtime/process/index.ts';
import { type Envelope, errorResponse, paramText, readEnvelope, requestIdIn } from '../../runtime/edge/index.ts';
import { asVmcpError, VmcpError } from '../../runtime/errors.ts';
import { isObject } from '../../runtime/json/index.ts';
import { LEGACY_REVISIONS, MODERN_REVISION } from '../../runtime/mcp/index.ts';
import { BOUNDS } from './bounds.ts';
import type { ClientSession } from './client-session.ts';
import { type InitializeResult, initializeResultFor } from './handshake.ts';
import { copyOf, paramOf, resultOf } from './messages.ts';
import { requestIn } from './requests.ts';
import type { Run } from './run.ts';

export interface FromClientsDeps {
  readonly clock: Clock;
  /** The run of the server that there is now. */
  readonly run: () => Run;
  /** Throws `backend_unreachable`. */
  readonly initializeResult: () => Promise<InitializeResult>;
  readonly isStopping: () => boolean;
  readonly onFailure: (error: VmcpError, request: Pick<Inbound, 'clientAddress' | 'correlationId'>) => void;
}

/** Streamable HTTP up to 2025-11-25, for one server. */
export const fromClients =
  (deps: FromClientsDeps) =>
  async (request: Inbound): Promise<Reply> => {
    if (request.endpoint !== 'mcp') throw notServed();
    checkRevision(request);
    if (request.http === 'GET') return listen(deps, request);
    if (request.http === 'DELETE') return end(deps, request);
    const envelope = readEnvelope(request.body);
    try {
      return await answerTo(deps, envelope, request);
    } catch (thrown) {
      const error = asVmcpError(thrown);
      deps.onFailure(error, request);
      return refused(error, envelope, request);
    }
  };

export const notServed = (): VmcpError =>
  new VmcpError('not_found', 'nothing is served here; the MCP endpoint is /mcp');

/** A client that tries the newest revision first gets an error without it here, and goes on with an older one. */
const checkRevision = ({ headers }: Inbound): void => {
  const asked = headers['mcp-protocol-version'];
  if (asked === undefined || LEGACY_REVISIONS.some((known) => known === asked)) return;
  // Some clients go on to name the newest they know; what counts is what `initialize` agreed on.
  if (asked === MODERN_REVISION && headers['mcp-session-id'] !== undefined) return;
  const supported = LEGACY_REVISIONS.join(', ');
  throw new VmcpError('unsupported_protocol_version', `unsupported protocol version (supported: ${supported})`);
};

const sessionOf = ({ run }: FromClientsDeps, { headers }: Inbound): ClientSession => {
  const id = headers['mcp-session-id'];
  if (typeof id !== 'string' || id === '')
    throw new VmcpError('session_required', 'Mcp-Session-Id is missing; initialize first');
  return run().sessions.use(id);
};

const listen = (deps: FromClientsDeps, request: Inbound): Reply => {
  refuseWhileStopping(deps);
  const session = sessionOf(deps, request);
  const { sessions } = deps.run();
  const giveBack = session.reserveStream();
  const open = (stream: OpenStream): void => {
    stream.onClosed(() => {
      giveBack();
      sessions.markUsed(session);
    });
    session.listen(stream);
  };
  return { kind: 'stream', open, abandon: giveBack };
};

const end = (deps: FromClientsDeps, request: Inbound): Reply => {
  deps.run().sessions.end(sessionOf(deps, request));
  return { kind: 'whole', status: 204 };
};

const refuseWhileStopping = ({ isStopping }: FromClientsDeps): void => {
  if (isStopping()) throw new VmcpError('stopping', 'the server is stopping; try again');
};

const answerTo = async (deps: FromClientsDeps, envelope: Envelope, request: Inbound): Promise<Reply> => {
  if (envelope.method === 'initialize' && envelope.id) return initialize(deps, envelope, envelope.id);
  const session = sessionOf(deps, request);
  if (envelope.kind === 'request') return requestIn(deps, session, { envelope, request });
  if (envelope.kind === 'response') settle(session, envelope);
  if (envelope.method === 'notifications/cancelled') cancel(session, envelope);
  // The other notifications of a client (initialized, roots) are about this one client, and the server knows
  // of one only.
  return { kind: 'whole', status: 202 };
};

const initialize = async (deps: FromClientsDeps, envelope: Envelope, id: Buffer): Promise<Reply> => {
  refuseWhileStopping(deps);
  const asked = paramOf(envelope, 'protocolVersion');
  if (typeof asked !== 'string') throw new VmcpError('invalid_params', 'params.protocolVersion is missing');
  const capabilities = declaredBy(envelope);
  const greeting = await deps.initializeResult();
  const session = deps.run().sessions.create(capabilities);
  const body = resultOf(id, Buffer.from(JSON.stringify(initializeResultFor(greeting, asked))));
  return { kind: 'whole', status: 200, body, headers: ['mcp-session-id', session.id] };
};

/** JSON text. */
const declaredBy = (envelope: Envelope): Buffer => {
  const declared = paramText(envelope, 'capabilities') ?? Buffer.from('{}');
  if (!isObject(declared, 0)) throw new VmcpError('invalid_params', 'params.capabilities is not an object');
  if (declared.length > BOUNDS.clientCapabilitiesBytes)
    throw new VmcpError('invalid_params', `params.capabilities is longer than ${BOUNDS.clientCapabilitiesBytes} bytes`);
  return copyOf(declared, { start: 0, end: declared.length });
};

const settle = (session: ClientSession, { body, id, result, error }: Envelope): void => {
  if (!id) return;
  if (result) session.settle(id, { kind: 'result', result: body.subarray(result.start, result.end) });
  else if (error) session.settle(id, { kind: 'error', error: body.subarray(error.start, error.end) });
};

/** Closing a connection cancels nothing in these revisions; only this notification does. */
const cancel = (session: ClientSession, envelope: Envelope): void => {
  const reason = paramOf(envelope, 'reason');
  const requestId = requestIdIn(envelope);
  const message = typeof reason === 'string' ? reason : 'cancelled by the client';
  if (requestId) session.cancel(requestId, new VmcpError('cancelled', message));
};

/**
 * Without a session an unreachable server is answered with 503, so that health checks see it; clients with a session
 * keep it.
 */
const refused = (error: VmcpError, { id, method }: Envelope, request: Inbound): WholeReply => {
  const reply = errorResponse(error, { id, correlationId: request.correlationId() });
  const isAway = error.code === 'backend_unreachable' && method === 'initialize';
  return { ...reply, ...(isAway && { status: 503 }), refusal: error };
};
