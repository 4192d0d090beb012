import type { UserBackendSessions } from '../backends/index.ts';
import type { Call, Caller, Inbound, Message, Reply, Answered } from '../call/index.ts';
import { Cancellation } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { isObject, isString, readString, SMALL_BYTES, type Span, isText } from '../json/index.ts';
import { LIMITS } from '../limits.ts';
import {
  type ListKind,
  isLogLevel,
  METHODS_WITH_NAME,
  LEGACY_REVISIONS,
  MODERN_REVISION,
  RESERVED_PREFIX,
  supportsTasks,
} from '../mcp/index.ts';
import { demandTasks } from './client-capabilities.ts';
import type { Envelope } from './envelope.ts';
import { type Era, methodIn } from './era.ts';
import type { Listeners } from './listen.ts';
import { clientNameIn, type ListingClient } from './listing-client.ts';
import { checkMcpHeaders } from './mcp-headers.ts';
import { ModernClient } from './modern-client.ts';
import { modernResponse, modernResult } from './modern-result.ts';
import { routed, type Routed } from './routed.ts';
import { answer, cursorOf, listAskedFor, MODERN_CAPABILITIES, type ServerInfo } from './shared-answers.ts';

export interface ModernDeps {
  /** Name and version of this server, at this moment. */
  readonly serverInfo: () => ServerInfo;
  readonly instructions: () => string;
  /** JSON text of the result of a list request, as earlier revisions have it. */
  readonly list: (kind: ListKind, cursor: string | undefined, caller: Caller, client: ListingClient) => Promise<Buffer>;
  /** Whether a shared cache may give this caller's lists to every client. */
  readonly areListsShared: (caller: Caller) => boolean;
  /** The streams of `subscriptions/listen`. */
  readonly listeners: Pick<Listeners, 'open'>;
  /** Lends backend sessions for one call of a caller without a session. */
  readonly callers: Pick<UserBackendSessions, 'acquire'>;
  /** Whether this revision is served; else the error names the earlier ones. */
  readonly isServed: () => boolean;
  /** Whether a client may send the header of an older revision than its body names. */
  readonly toleratesHeaders: () => boolean;
  readonly isStopping: () => boolean;
}

/** How long a client may keep a list before it asks again, if it does not listen for changes. */
const LIST_TTL_MS = 5_000;

/** Revision 2026-07-28: no handshake and no session, each request speaks for itself. */
export const modernEra = (deps: ModernDeps): Era => {
  const pages = modernPages(deps);
  return {
    parse: (envelope, request, caller) => {
      if (envelope.kind === 'response')
        throw new VmcpError('not_json_rpc', 'a response to nothing: this revision has no requests to clients');
      const { id } = envelope;
      const revision = id
        ? revisionIn(envelope)
        : (textAt(envelope.body, envelope.reserved.protocolVersion) ?? MODERN_REVISION);
      const named = id && routed(envelope, 'modern');
      const name = METHODS_WITH_NAME.has(envelope.method) ? nameIn(envelope, named) : undefined;
      const tolerance = { olderRevision: deps.toleratesHeaders(), mayBeAbsent: id === undefined };
      checkMcpHeaders(request.headers, { revision, method: envelope.method, name }, tolerance);
      // A notification does nothing in this revision: so headers that some clients leave out are not required.
      if (!id) return { kind: 'local', id, method: methodIn(envelope), answer: () => ({ kind: 'whole', status: 202 }) };
      const client = declared(envelope, revision, deps.isServed());
      if (named?.names === 'task') demandTasks(client.capabilities);
      if (deps.isStopping()) throw new VmcpError('stopping', 'the server is stopping; try again');
      const arrival: Arrival = { envelope, request, caller, client, id };
      return named ? callIn(deps, arrival, named) : localIn(deps, pages, arrival);
    },
  };
};

/** What a request declares about its client. */
interface DeclaredClient {
  /** JSON text. */
  readonly capabilities: Buffer;
  readonly logLevel: string | undefined;
}

interface Arrival {
  readonly envelope: Envelope;
  readonly request: Inbound;
  readonly caller: Caller;
  readonly client: DeclaredClient;
  readonly id: Buffer;
}

const revisionIn = ({ body, reserved }: Envelope): string => {
  const { protocolVersion } = reserved;
  if (protocolVersion && isText(body, protocolVersion.start, MODERN_REVISION)) return MODERN_REVISION;
  const revision = textAt(body, protocolVersion);
  if (revision === undefined) throw missing('protocolVersion', 'a string');
  return revision;
};

/** Throws `invalid_request` and `unsupported_revision`. */
const declared = ({ body, reserved }: Envelope, revision: string, isServed: boolean): DeclaredClient => {
  const { clientCapabilities, logLevel } = reserved;
  if (revision !== MODERN_REVISION || !isServed)
    throw new VmcpError('unsupported_revision', `revision ${revision.slice(0, 32)} is not served in this form`, {
      data: { supported: isServed ? SUPPORTED : EARLIER, requested: revision.slice(0, 32) },
    });
  if (!clientCapabilities || !isObject(body, clientCapabilities.start))
    throw missing('clientCapabilities', 'an object');
  const capabilities = body.subarray(clientCapabilities.start, clientCapabilities.end);
  if (capabilities.length > LIMITS.clientCapabilitiesBytes) throw missing('clientCapabilities', 'shorter');
  const level = textAt(body, logLevel);
  if (logLevel && !isLogLevel(level)) throw missing('logLevel', 'a severity');
  return { capabilities, logLevel: level };
};

const missing = (key: string, wanted: string): VmcpError =>
  new VmcpError('invalid_request', `params._meta["${RESERVED_PREFIX}${key}"] must be ${wanted}`);

const textAt = (body: Buffer, span: Span | undefined): string | undefined =>
  span && isString(body, span) ? readString(body, span) : undefined;

/** Undefined where the text is too long to be parsed. */
const valueAt = (body: Buffer, span: Span | undefined): unknown =>
  span && span.end - span.start <= SMALL_BYTES ? JSON.parse(body.toString('utf8', span.start, span.end)) : undefined;

const nameIn = ({ body, name, uri, taskId, method }: Envelope, named: Routed | undefined): string | undefined => {
  if (named) return named.name;
  // A notification, which goes nowhere.
  if (method.startsWith('tasks/')) return textAt(body, taskId);
  return textAt(body, method === 'resources/read' ? uri : name);
};

const localIn = (deps: ModernDeps, pages: ModernPages, { envelope, request, caller, client, id }: Arrival): Message => {
  const { method } = envelope;
  const local = (make: () => Reply | Promise<Reply>): Message => ({ kind: 'local', id, method, answer: make });
  if (method === 'server/discover') return local(() => answer(id, discover(deps)));
  if (method === 'subscriptions/listen') {
    const serverInfo = JSON.stringify(deps.serverInfo());
    const { capabilities } = client;
    const { clientAddress: address } = request;
    const onGone = (run: () => void): void => request.onGone(run);
    const listener = { caller, request, capabilities, serverInfo, address, onGone };
    return local(() => deps.listeners.open(envelope, id, listener));
  }
  const kind = listAskedFor(method);
  if (!kind) throw new VmcpError('no_such_method', 'method not found');
  const listing = {
    name: clientNameIn(valueAt(envelope.body, envelope.reserved.clientInfo)),
    headers: request.headers,
  };
  return local(async () => ({
    kind: 'page',
    id,
    page: pages(await deps.list(kind, cursorOf(envelope), caller, listing), caller),
  }));
};

/** Revisions served here, newest first. */
const EARLIER = LEGACY_REVISIONS.toReversed();
const SUPPORTED = [MODERN_REVISION, ...EARLIER];

const discover = ({ serverInfo, instructions }: ModernDeps): Buffer =>
  Buffer.from(
    JSON.stringify({
      resultType: 'complete',
      supportedVersions: SUPPORTED,
      capabilities: MODERN_CAPABILITIES,
      instructions: instructions(),
      ttlMs: LIST_TTL_MS,
      cacheScope: 'public',
      _meta: { [`${RESERVED_PREFIX}serverInfo`]: serverInfo() },
    }),
  );

/** Converts a page of a list to the form of this revision. */
type ModernPages = (page: Buffer, caller: Caller) => Buffer;

/** Converts each page once while the page is in memory: a list is requested far more often than it changes. */
const modernPages = (deps: ModernDeps): ModernPages => {
  const known = new WeakMap<Buffer, { readonly of: string; readonly bytes: Buffer }>();
  return (page, caller) => {
    const serverInfo = JSON.stringify(deps.serverInfo());
    const caching = `"ttlMs":${LIST_TTL_MS},"cacheScope":"${deps.areListsShared(caller) ? 'public' : 'private'}"`;
    const of = caching + serverInfo;
    const before = known.get(page);
    if (before?.of === of) return before.bytes;
    const bytes = modernResult(page, { serverInfo, caching });
    known.set(page, { of, bytes });
    return bytes;
  };
};

const callIn = (deps: ModernDeps, { envelope, request, caller, client, id }: Arrival, named: Routed): Message => {
  const { body, params, meta, arguments: args } = envelope;
  const answered = answeredIn(envelope);
  const cancellation = new Cancellation();
  const { backendSessions, release } = deps.callers.acquire({
    caller,
    capabilities: client.capabilities,
    cancel: (reason) => cancellation.abort(reason),
  });
  const asked = new ModernClient({ request, ...client, cancellation });
  request.onGone(() => asked.gone());
  const call: Call = {
    caller,
    ...named,
    origin: 'client',
    depth: 0,
    request: { bytes: body, id, target: named.target, params, meta, arguments: args },
    backendSessions,
    signal: cancellation,
    answered,
    headers: request.headers,
    client: asked,
  };
  const members = {
    serverInfo: JSON.stringify(deps.serverInfo()),
    mayBeTask: () => named.method === 'tools/call' && supportsTasks(client.capabilities),
    ...(named.method === 'resources/read' && { caching: '"ttlMs":0,"cacheScope":"private"' }),
  };
  return {
    kind: 'call',
    id,
    call,
    end: () => asked.whenServed(release),
    finish: (reply) =>
      reply.kind === 'whole' && reply.body ? { ...reply, ...modernResponse(reply.body, members) } : reply,
  };
};

/** Throws `invalid_params`. */
const answeredIn = ({ body, requestState, inputResponses }: Envelope): Answered | undefined => {
  if (!requestState && !inputResponses) return undefined;
  const state = textAt(body, requestState);
  if (requestState && state === undefined) throw new VmcpError('invalid_params', 'params.requestState is not a string');
  return { state, answers: inputResponses && body.subarray(inputResponses.start, inputResponses.end) };
};
