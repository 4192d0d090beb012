import {
  bodyLength,
  bodyOf,
  type Call,
  type Caller,
  type CallRecord,
  type Decided,
  methodOf,
  type OutsideAnswer,
  type Reply,
  type RequestHead,
  type RequestRecord,
  shownName,
} from '../../call/index.ts';
import { asVmcpError, VmcpError } from '../../errors.ts';
import type { Observers } from '../observers.ts';
import type { AuditEvent, EventSource, EventTarget } from './event.ts';
import { eventTypeOf } from './event-type.ts';
import type { InForce, Journal } from './journal.ts';
import { type KeptData, keptData } from './kept-data.ts';
import { judge, type Judged, outcomeOfError, outcomeOfStatus } from './outcome.ts';
import type { Logins } from './logins.ts';

export interface AuditObserverDeps {
  readonly journal: Journal;
  readonly logins: Logins;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A name of a session, from which its id cannot be found out. */
  readonly sessionName: (id: string, caller: Caller) => string;
  /** The HTTP status of a request that is refused with this error before it could be read. */
  readonly statusOf: (error: VmcpError) => number;
}

/** Records an event for every request, for every inner call, and for what is answered outside of the pipeline. */
export const auditObserver = (
  deps: AuditObserverDeps,
): Required<Pick<Observers, 'audit' | 'aroundCall' | 'onOutsideAnswer' | 'onDecided'>> => {
  const { journal, now } = deps;
  return {
    audit: async (record, next) => {
      const before = journal.inForce;
      if (!before) return next();
      const receivedAt = now();
      if (before.settings.mode === 'blocking-strict') await firstEvent(deps, record, receivedAt);
      let reply: Reply;
      try {
        reply = await next();
      } catch (error) {
        const recorded = journal.record(refusedEvent(deps, record, { receivedAt, error: asVmcpError(error) }));
        if (recorded) await recorded;
        throw error;
      }
      const recorded = requestEvents(deps, record, { receivedAt, reply });
      if (recorded) await recorded;
      return reply;
    },
    aroundCall: (call, record, next) =>
      call.depth === 0 || !journal.inForce?.isWanted('mcp_tool_call')
        ? next()
        : aroundInner(deps, { call, record }, next),
    onOutsideAnswer: (answer) => journal.record(outsideEvent(answer))?.then(() => {}),
    onDecided: (decided) => journal.record(decidedEvent(deps, decided))?.then(() => {}),
  };
};

/** The first event of a request, before any work for it. Throws `audit_unavailable` where it cannot be written. */
const firstEvent = async ({ journal }: AuditObserverDeps, { request }: RequestRecord, receivedAt: number) => {
  const recorded = journal.record({
    type: 'request_received',
    outcome: 'success',
    receivedAt,
    source: sourceOf(request),
    target: { endpoint: `/${request.endpoint}`, httpMethod: request.http },
  });
  if (recorded && !(await recorded))
    throw new VmcpError('audit_unavailable', 'the request cannot be put on record; try again');
};

interface Ended {
  readonly receivedAt: number;
  readonly reply: Reply;
}

/** The event of a request that was read and answered; before it, where there is one, that of its caller's login. */
const requestEvents = (
  deps: AuditObserverDeps,
  record: RequestRecord,
  { receivedAt, reply }: Ended,
): Promise<unknown> | undefined => {
  const { journal, logins } = deps;
  const { inForce } = journal;
  if (!inForce) return undefined;
  const { caller, message, call, request } = record;
  const login = caller && logins.isNew(caller) ? journal.record(loginEvent(record, receivedAt)) : undefined;
  const type = eventTypeOf(message && methodOf(message));
  if (!inForce.isWanted(type)) return login;
  const { outcome, rpcCode, errorCode, status, responseBytes } = answered(reply, inForce);
  // Member by member, since every call has an event: a spread costs more than all of it.
  const recorded = journal.record({
    type,
    outcome,
    receivedAt,
    source: sourceOf(request),
    caller,
    target: targetOf(record),
    session: sessionOf(deps, record, reply),
    decision: call?.decision,
    credential: call?.credential,
    errorCode,
    rpcCode,
    status,
    responseBytes,
    request: requestData(inForce, request.body),
    response: responseData(inForce, reply),
  });
  return login ? Promise.all([login, recorded]) : recorded;
};

const answered = (
  reply: Reply,
  { settings }: InForce,
): Judged & Pick<AuditEvent, 'errorCode' | 'status' | 'responseBytes'> => {
  const { outcome, rpcCode } = judge(reply, settings.detectApplicationErrors);
  const whole = reply.kind === 'whole' ? reply : undefined;
  const responseBytes = reply.kind === 'stream' ? undefined : bodyLength(reply);
  return { outcome, rpcCode, errorCode: whole?.refusal?.code, status: whole?.status ?? 200, responseBytes };
};

const requestData = ({ settings, secrecyOf }: InForce, body: Buffer): KeptData | undefined => {
  const { includeRequestData, maxDataBytes: maxBytes } = settings;
  return includeRequestData && body.length > 0 ? keptData(body, { maxBytes, secrecyOf }) : undefined;
};

const responseData = ({ settings, secrecyOf }: InForce, reply: Reply): KeptData | undefined => {
  const { includeResponseData, maxDataBytes: maxBytes } = settings;
  if (!includeResponseData || reply.kind === 'stream') return undefined;
  const body = bodyOf(reply);
  return body && keptData(body, { maxBytes, secrecyOf });
};

const loginEvent = ({ request, caller }: RequestRecord, receivedAt: number): AuditEvent => ({
  type: 'login',
  outcome: 'success',
  receivedAt,
  source: sourceOf(request),
  caller,
  target: { endpoint: `/${request.endpoint}`, httpMethod: request.http },
});

/** A request that was refused before it could be read: by authentication where its caller is not known. */
const refusedEvent = (
  deps: AuditObserverDeps,
  record: RequestRecord,
  { receivedAt, error }: { readonly receivedAt: number; readonly error: VmcpError },
): AuditEvent => {
  const { request, caller } = record;
  return {
    type: caller ? 'mcp_request' : 'login',
    outcome: outcomeOfError(error.code),
    receivedAt,
    source: sourceOf(request),
    caller,
    target: targetOf(record),
    session: sessionOf(deps, record, undefined),
    errorCode: error.code,
    status: deps.statusOf(error),
  };
};

const outsideEvent = ({ request, path, receivedAt, status, error }: OutsideAnswer): AuditEvent => ({
  type: MCP_PATHS.has(path) ? 'mcp_request' : 'http_request',
  outcome: error ? outcomeOfError(error.code) : outcomeOfStatus(status),
  receivedAt,
  source: sourceOf(request),
  target: { endpoint: path, httpMethod: request.http },
  errorCode: error?.code,
  status,
});

/** The decision about a watched name, or the end of what was open; the request is absent where no client has asked. */
const decidedEvent = ({ now, sessionName }: AuditObserverDeps, decided: Decided): AuditEvent => {
  const { caller, method, watched, record, request, sessionId, refusal } = decided;
  return {
    type: watched?.names === 'task' ? 'mcp_task_get' : watched ? 'mcp_resource_subscribe' : eventTypeOf(method),
    outcome: refusal ? outcomeOfError(refusal.code) : 'success',
    receivedAt: now(),
    ...(request && { source: sourceOf(request) }),
    caller,
    target: {
      endpoint: `/${request?.endpoint ?? 'mcp'}`,
      httpMethod: method === 'GET' || method === 'DELETE' ? method : 'POST',
      method,
      name: watched && shownName(watched),
      type: watched?.names,
      to: record?.target,
    },
    session: sessionId === undefined ? undefined : sessionName(sessionId, caller),
    decision: record?.decision,
    errorCode: refusal?.code,
  };
};

const MCP_PATHS: ReadonlySet<string> = new Set(['/', '/mcp', '/mcp/', '/sse', '/messages']);

interface InnerCall {
  readonly call: Call;
  readonly record: CallRecord;
}

const aroundInner = async (deps: AuditObserverDeps, inner: InnerCall, next: () => Promise<Reply>): Promise<Reply> => {
  const receivedAt = deps.now();
  let reply: Reply;
  try {
    reply = await next();
  } catch (thrown) {
    const { code } = asVmcpError(thrown);
    await deps.journal.record({
      ...innerEvent(deps, inner, receivedAt),
      outcome: outcomeOfError(code),
      errorCode: code,
    });
    throw thrown;
  }
  const { inForce } = deps.journal;
  if (inForce)
    await deps.journal.record({
      ...innerEvent(deps, inner, receivedAt),
      ...answered(reply, inForce),
      request: requestData(inForce, inner.call.request.bytes),
      response: responseData(inForce, reply),
    });
  return reply;
};

const innerEvent = (
  deps: AuditObserverDeps,
  { call, record }: InnerCall,
  receivedAt: number,
): Omit<AuditEvent, 'outcome'> => {
  const { request: outer } = record;
  return {
    type: eventTypeOf(call.method),
    receivedAt,
    ...(outer && { source: sourceOf(outer.request), session: sessionOf(deps, outer, undefined) }),
    caller: call.caller,
    target: {
      endpoint: `/${outer?.request.endpoint ?? 'mcp'}`,
      httpMethod: outer?.request.http ?? 'POST',
      method: call.method,
      name: call.name,
      type: call.names,
      to: record.target,
    },
    decision: record.decision,
    credential: record.credential,
    inner: { depth: call.depth, origin: call.origin },
  };
};

const sourceOf = (request: RequestHead): EventSource => ({
  address: request.clientAddress,
  userAgent: request.headers['user-agent'],
  correlationId: request.correlationId(),
});

const targetOf = ({ request, message, call }: RequestRecord): EventTarget => {
  const asked = message?.kind === 'call' ? message.call : undefined;
  return {
    endpoint: `/${request.endpoint}`,
    httpMethod: request.http,
    method: message && methodOf(message),
    name: asked && shownName(asked),
    type: asked?.names,
    to: call?.target,
  };
};

/** The session that a request names; of `initialize`, the one that it has begun. */
const sessionOf = (
  { sessionName }: AuditObserverDeps,
  { request, caller }: RequestRecord,
  reply: Reply | undefined,
) => {
  const at = request.sessionId === undefined ? (reply?.headers?.indexOf('mcp-session-id') ?? -1) : -1;
  const id = request.sessionId ?? (at < 0 ? undefined : reply?.headers?.[at + 1]);
  return id === undefined || id === '' || !caller ? undefined : sessionName(id, caller);
};
