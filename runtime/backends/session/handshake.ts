import { clipped } from '../../text.ts';
import { VmcpError } from '../../errors.ts';
import { memberAt, smallMember } from '../../json/index.ts';
import { LATEST_LEGACY_REVISION, LEGACY_REVISIONS } from '../../mcp/index.ts';
import type { IdleTimeout, BackendResponse, Fetch } from '../../outgoing/index.ts';
import type { SavedBackendSession } from '../../store/index.ts';
import { isAnswerTo, readServerMessage } from '../messages/server-message.ts';
import { unauthenticatedBy } from '../messages/small-messages.ts';
import type { SessionSettings } from './settings.ts';
import type { BackendCapabilities } from '../messages/backend-call.ts';

/** A session as the backend opened it. */
export interface OpenSession {
  readonly path: string;
  /** Sent with every further request: names and values in turn. */
  readonly headers: readonly string[];
  /** Whether the backend gave the session an id; without one the backend keeps no session. */
  readonly hasId: boolean;
  /** The protocol revision agreed on. */
  readonly revision: string;
  readonly capabilities: BackendCapabilities;
  /** The session as it is kept for other replicas; absent when it is not. */
  readonly saved?: SavedBackendSession;
}

/** The backend opens no session of a revision that has them, or keeps none. The call was not executed. */
export class NoSessionError extends VmcpError {}

/** The error for a backend whose sessions have no id. */
export const noSessionKept = (backend: string): NoSessionError =>
  new NoSessionError('backend_unavailable', `backend "${backend}" keeps no sessions`);

const REDIRECTS = 3;

const ID = Buffer.from('"vmcp-initialize"');
const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');
/** Headers of every POST: names and values in turn. */
export const BASE_HEADERS = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];

/** Headers of the GET that opens the session's stream. */
export const streamHeaders = ({ headers }: OpenSession): readonly string[] => [
  ...headers.slice(BASE_HEADERS.length),
  'accept',
  'text/event-stream',
];

/**
 * `initialize` and `notifications/initialized`. Follows redirects that keep method and origin, as servers send for a
 * missing slash.
 */
export const handshake = async (
  settings: SessionSettings,
  fetch: Fetch,
  idleTimeout: IdleTimeout,
): Promise<OpenSession> => {
  const { path, response } = await initialize(settings, fetch, idleTimeout);
  const result = readResult(settings.backend, response);
  if (!LEGACY_REVISIONS.some((spoken) => spoken === result.protocolVersion)) {
    throw new NoSessionError(
      'backend_unavailable',
      `backend "${settings.backend}" speaks no protocol revision known here`,
      {
        detail: clipped(result.protocolVersion),
      },
    );
  }
  const id = response.headers['mcp-session-id'];
  const headers = [...BASE_HEADERS, 'mcp-protocol-version', result.protocolVersion];
  if (typeof id === 'string' && id !== '') headers.push('mcp-session-id', id);
  const { protocolVersion: revision, capabilities } = result;
  const open = { path, headers, hasId: headers.includes('mcp-session-id'), revision, capabilities };
  await confirm(settings.backend, open, fetch, idleTimeout);
  return open;
};

const confirm = async (backend: string, open: OpenSession, fetch: Fetch, idleTimeout: IdleTimeout): Promise<void> => {
  const ignored = { idleTimeout, onMessage: () => 'other' as const };
  const { status } = await fetch({
    method: 'POST',
    path: open.path,
    headers: open.headers,
    body: INITIALIZED,
    ...ignored,
  });
  if (status >= 400)
    throw new VmcpError('backend_unavailable', `backend "${backend}" failed`, {
      detail: `HTTP ${status} to initialized`,
      isOutage: status >= 500,
    });
};

const initialize = async (settings: SessionSettings, fetch: Fetch, idleTimeout: IdleTimeout) => {
  const body = Buffer.from(
    `{"jsonrpc":"2.0","id":${ID.toString('latin1')},"method":"initialize","params":{"protocolVersion":"${LATEST_LEGACY_REVISION}","capabilities":${settings.purpose ? ALL_ASKABLE : askableCapabilities(settings.client?.capabilities ?? settings.capabilities)},"clientInfo":${JSON.stringify(settings.clientInfo)}}}`,
  );
  let url = new URL(settings.url);
  for (let redirects = 0; ; redirects += 1) {
    const path = url.pathname + url.search;
    const response = await fetch({
      method: 'POST',
      path,
      headers: BASE_HEADERS,
      body,
      idleTimeout,
      onMessage: isOurs,
      awaits: { id: ID, isCall: false },
    });
    const next = redirects < REDIRECTS ? redirected(url, response) : undefined;
    if (!next) return { path, response };
    url = next;
  }
};

/**
 * Capabilities declared by the session that reads lists: some servers list tools that send requests to the client only
 * to clients that declare them. Requests on that session are refused; a call has a session with the capabilities of its
 * own client.
 */
export const ALL_ASKABLE = '{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}';

const ASKABLE = ['elicitation', 'sampling', 'roots'] as const;

/**
 * JSON text of those declared capabilities that let a backend send requests to the client: the only ones that matter to
 * a backend.
 */
export const askableCapabilities = (bytes: Buffer | undefined): string => {
  if (!bytes) return '{}';
  const texts = ASKABLE.flatMap((key) => {
    const value = memberAt(bytes, 0, key);
    return value ? [`"${key}":${bytes.toString('utf8', value.start, value.end)}`] : [];
  });
  return `{${texts.join(',')}}`;
};

/** Whether the stream of the session has to be opened. */
export const wantsStream = ({ purpose, client, capabilities }: SessionSettings, open: OpenSession): boolean => {
  if (purpose === 'listChanges') return open.capabilities.listChanged;
  // Servers send requests on it during calls, too, even where the client has declared nothing: those requests have to
  // be refused.
  if (capabilities) return open.hasId;
  return client !== undefined && (client.isListening || askableCapabilities(client.capabilities) !== '{}');
};

const isOurs = (bytes: Buffer): 'answer' | 'other' => (isAnswerTo(bytes, ID) ? 'answer' : 'other');

/** Redirects that keep the method. */
const KEPT: ReadonlySet<number> = new Set([307, 308]);

/**
 * The target of a redirect with one of `statuses` on the same origin; undefined for all others, which are failures
 * (docs/decisions.md "Addresses that may be fetched").
 */
export const redirected = (from: URL, response: BackendResponse, statuses = KEPT): URL | undefined => {
  const location = response.headers['location'];
  if (!statuses.has(response.status) || typeof location !== 'string') return undefined;
  const to = URL.parse(location, from.href);
  return to && to.origin === from.origin ? to : undefined;
};

/** Whether a refusal says nothing about which revisions a backend speaks. */
export const isUndecided = (status: number): boolean => UNDECIDED.has(status) || status >= 500;

const UNDECIDED: ReadonlySet<number> = new Set([401, 403, 407, 408, 429]);

/** Statuses with which the stream URL of HTTP+SSE answers a POST. */
const LIKE_SSE: ReadonlySet<number> = new Set([404, 405]);

const readResult = (
  backend: string,
  response: BackendResponse,
): { readonly protocolVersion: string; readonly capabilities: BackendCapabilities } => {
  const message = readServerMessage(response.body);
  if (response.status === 401 || response.status === 403) throw unauthenticatedBy(backend, response.status);
  if (message?.kind !== 'response') {
    const hint = LIKE_SSE.has(response.status) ? '; it may be one of HTTP+SSE (transport: sse)' : '';
    const Refusal = isUndecided(response.status) ? VmcpError : NoSessionError;
    throw new Refusal('backend_unavailable', `backend "${backend}" does not answer like an MCP server${hint}`, {
      detail: `HTTP ${response.status}`,
      isOutage: response.status >= 500,
    });
  }
  const { start } = message.result;
  const protocolVersion = smallMember(response.body, start, 'protocolVersion');
  return {
    protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : '',
    capabilities: capabilitiesOf(smallMember(response.body, start, 'capabilities')),
  };
};

/** `capabilities` of an `initialize` or `server/discover` result, as the backend wrote it. */
export const capabilitiesOf = (value: unknown): BackendCapabilities => {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const has = (name: string): boolean => typeof given[name] === 'object' && given[name] !== null;
  const tells = (name: string): boolean => has(name) && (given[name] as { listChanged?: unknown }).listChanged === true;
  return {
    tools: has('tools'),
    prompts: has('prompts'),
    resources: has('resources'),
    logging: has('logging'),
    listChanged: tells('tools') || tells('prompts') || tells('resources'),
  };
};
