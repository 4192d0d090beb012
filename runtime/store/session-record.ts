import { objectIn } from '../json/index.ts';
import { LIMITS } from '../limits.ts';
import { isLogLevel, LEGACY_REVISIONS } from '../mcp/index.ts';
import type { Fields } from './store.ts';

/**
 * What all replicas know of a session. It holds no secret of the caller, but backend session ids. In the store each
 * part is sealed.
 */
export interface SessionRecord extends SessionStart {
  /** Least severe log message that the client wants; undefined: the client has not set one. */
  readonly logLevel: string | undefined;
  /** Names the decision of a replica to end the session soon, unless another replica knows its caller. */
  readonly retirement: string | undefined;
  /** Subscriptions that no backend session holds (backends of 2026-07-28). */
  readonly subscriptions: readonly ResourceSubscription[];
  /** By the backend's name. */
  readonly backendSessions: ReadonlyMap<string, SavedBackendSession>;
}

/** The part of a record that is known from `initialize`. */
export interface SessionStart {
  /** The protocol revision agreed on. */
  readonly revision: string;
  /** JSON text, as the client wrote it. */
  readonly capabilities: Buffer;
  /** The name that the client gives of itself; undefined: none, or a version before this field has stored it. */
  readonly clientName?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A resource that the client has subscribed to. */
export interface ResourceSubscription {
  readonly backend: string;
  /** As the client wrote it. */
  readonly uri: string;
}

/** What any replica needs to use a backend's session. */
export interface BackendSession {
  /** Undefined: the backend named none. */
  readonly sessionId: string | undefined;
  readonly revision: string;
  /** Path and query of the backend's endpoint; undefined: those of its URL. */
  readonly path: string | undefined;
}

/** A backend session as it is stored. */
export interface SavedBackendSession extends BackendSession {
  /** The stored text, by which the session is told from one saved later. */
  readonly stored: Buffer;
}

/** Largest sizes of the parts; a larger part is not stored. */
export const RECORD_LIMITS = Object.freeze({
  capabilitiesBytes: LIMITS.clientCapabilitiesBytes,
  backendSessionBytes: 8 * 1024,
  uriBytes: 2 * 1024,
  /** Subscriptions and backend sessions together, and the few other parts. */
  fields: 1_024,
});

/** Version of the format: a change that older replicas cannot read gets a new number. They ignore unknown fields. */
const FORMAT_VERSION = '2';

export const LOG_LEVEL = 'logLevel';
export const RETIREMENT = 'retirement';
/** Field of a record for the session with this backend. */
export const backendField = (name: string): string => `backend:${name}`;
/** Field of a record for the subscription with this digest. */
export const subscriptionField = (digest: string): string => `subscription:${digest}`;

export const encodeStart = ({ revision, capabilities, createdAt, clientName }: SessionStart): Fields =>
  new Map([
    ...(clientName === undefined ? [] : [['clientName', Buffer.from(clientName)] as const]),
    ['form', Buffer.from(FORMAT_VERSION)],
    ['revision', Buffer.from(revision)],
    ['createdAt', Buffer.from(`${createdAt}`)],
    ['capabilities', capabilities],
  ]);

export const encodeBackendSession = ({ sessionId, revision, path }: BackendSession): Buffer =>
  Buffer.from(JSON.stringify({ sessionId, revision, path }));

/** Undefined: the record is not valid, or a newer version wrote it in another format. */
export const decodeRecord = (fields: Fields): SessionRecord | undefined => {
  const revision = fields.get('revision')?.toString();
  const capabilities = fields.get('capabilities');
  const createdAt = Number(fields.get('createdAt')?.toString());
  const clientName = fields.get('clientName')?.toString();
  if (fields.get('form')?.toString() !== FORMAT_VERSION) return undefined;
  if (!isRevision(revision) || !isObjectText(capabilities) || !Number.isFinite(createdAt)) return undefined;
  const backendSessions = backendSessionsIn(fields);
  if (!backendSessions) return undefined;
  return {
    revision,
    capabilities,
    createdAt,
    ...(clientName !== undefined && { clientName }),
    logLevel: logLevelOf(fields.get(LOG_LEVEL)?.toString()),
    retirement: fields.get(RETIREMENT)?.toString(),
    subscriptions: withPrefix(fields, subscriptionField('')).flatMap(([, stored]) => decodeSubscription(stored)),
    backendSessions,
  };
};

const backendSessionsIn = (fields: Fields): ReadonlyMap<string, SavedBackendSession> | undefined => {
  const sessions = new Map<string, SavedBackendSession>();
  for (const [name, stored] of withPrefix(fields, backendField(''))) {
    const session = decodeBackendSession(stored);
    if (!session) return undefined;
    sessions.set(name, session);
  }
  return sessions;
};

/** Undefined: the stored text is not valid. */
export const decodeBackendSession = (stored: Buffer): SavedBackendSession | undefined => {
  const value = objectIn(stored);
  if (!value) return undefined;
  const { sessionId, revision, path } = value;
  if (!isOptionalText(sessionId) || !isOptionalPath(path) || !isRevision(revision)) return undefined;
  return { sessionId, revision, path, stored };
};

const isRevision = (value: unknown): value is string => LEGACY_REVISIONS.some((revision) => revision === value);

const logLevelOf = (level: string | undefined): string | undefined => (isLogLevel(level) ? level : undefined);

/** A path on the backend's own origin (RFC 3986 §4.2: `//` begins another authority). */
const isOptionalPath = (value: unknown): value is string | undefined => {
  if (value === undefined) return true;
  const url = typeof value === 'string' ? URL.parse(value, SOME_ORIGIN) : null;
  return url?.origin === SOME_ORIGIN && url.pathname + url.search === value;
};

const SOME_ORIGIN = 'http://backend.invalid';

export const encodeSubscription = ({ backend, uri }: ResourceSubscription): Buffer =>
  Buffer.from(JSON.stringify({ backend, uri }));

const decodeSubscription = (stored: Buffer): readonly ResourceSubscription[] => {
  const { backend, uri } = objectIn(stored) ?? {};
  return typeof backend === 'string' && typeof uri === 'string' ? [{ backend, uri }] : [];
};

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';

const isObjectText = (text: Buffer | undefined): text is Buffer => text !== undefined && objectIn(text) !== undefined;

const withPrefix = (fields: Fields, prefix: string): (readonly [string, Buffer])[] =>
  [...fields].flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
  );
