import { LIMITS } from '../limits.ts';
import { isLogLevel } from '../log-levels.ts';
import { LEGACY_REVISIONS } from '../revisions.ts';
import type { Fields } from './store.ts';

/** What replicas know of a session. No secret of the caller is in it; backend session ids are. In the store each part is sealed. */
export interface SessionRecord extends SessionStart {
  /** Least severe log message that the client wants; undefined: it has not said. */
  readonly logLevel: string | undefined;
  /** Those that no backend session holds (backends of 2026-07-28). */
  readonly subscriptions: readonly ResourceSubscription[];
  /** By the backend's name. */
  readonly backendSessions: ReadonlyMap<string, SavedBackendSession>;
}

/** What is known once the client has initialized. */
export interface SessionStart {
  /** The protocol revision agreed on. */
  readonly revision: string;
  /** JSON text, as the client wrote it. */
  readonly capabilities: Buffer;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A resource that the client wants to hear of. */
export interface ResourceSubscription {
  readonly backend: string;
  /** As the client wrote it. */
  readonly uri: string;
}

/** How any replica goes on with a backend's session. */
export interface BackendSession {
  /** Undefined: the backend named none. */
  readonly sessionId: string | undefined;
  readonly revision: string;
  /** Path and query that the backend was reached at; undefined: those of its URL. */
  readonly path: string | undefined;
}

export interface SavedBackendSession extends BackendSession {
  /** As it was written: tells it from one that was saved later. */
  readonly stored: Buffer;
}

/** Bytes of each part; beyond that it is not kept. */
export const RECORD_LIMITS = Object.freeze({
  capabilitiesBytes: LIMITS.clientCapabilitiesBytes,
  backendSessionBytes: 8 * 1024,
  uriBytes: 2 * 1024,
  /** Subscriptions and backend sessions together, and the few other parts. */
  fields: 1_024,
});

/** A change that older replicas cannot read gets a new number. Fields they do not know they leave alone. */
const FORM = '2';

export const LOG_LEVEL = 'logLevel';
export const backendField = (name: string): string => `backend:${name}`;
export const subscriptionField = (digest: string): string => `subscription:${digest}`;

export const encodeStart = ({ revision, capabilities, createdAt }: SessionStart): Fields =>
  new Map([
    ['form', Buffer.from(FORM)],
    ['revision', Buffer.from(revision)],
    ['createdAt', Buffer.from(`${createdAt}`)],
    ['capabilities', capabilities],
  ]);

export const encodeBackendSession = ({ sessionId, revision, path }: BackendSession): Buffer =>
  Buffer.from(JSON.stringify({ sessionId, revision, path }));

/** Undefined: nothing that we wrote, or what a newer version wrote in another form. */
export const decodeRecord = (fields: Fields): SessionRecord | undefined => {
  const revision = fields.get('revision')?.toString();
  const capabilities = fields.get('capabilities');
  const createdAt = Number(fields.get('createdAt')?.toString());
  if (fields.get('form')?.toString() !== FORM) return undefined;
  if (!isRevision(revision) || !isObjectText(capabilities) || !Number.isFinite(createdAt)) return undefined;
  const backendSessions = backendSessionsIn(fields);
  if (!backendSessions) return undefined;
  return {
    revision,
    capabilities,
    createdAt,
    logLevel: logLevelOf(fields.get(LOG_LEVEL)?.toString()),
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

export const decodeBackendSession = (stored: Buffer): SavedBackendSession | undefined => {
  const value = parsed(stored);
  if (!value) return undefined;
  const { sessionId, revision, path } = value;
  if (!isOptionalText(sessionId) || !isOptionalPath(path) || !isRevision(revision)) return undefined;
  return { sessionId, revision, path, stored };
};

const isRevision = (value: unknown): value is string => LEGACY_REVISIONS.some((revision) => revision === value);

const logLevelOf = (level: string | undefined): string | undefined => (isLogLevel(level) ? level : undefined);

/** One that leads to the backend and nowhere else (RFC 3986 §4.2: `//` begins another authority). */
const isOptionalPath = (value: unknown): value is string | undefined => {
  if (value === undefined) return true;
  const url = typeof value === 'string' ? URL.parse(value, SOME_ORIGIN) : null;
  return url?.origin === SOME_ORIGIN && url.pathname + url.search === value;
};

const SOME_ORIGIN = 'http://backend.invalid';

export const encodeSubscription = ({ backend, uri }: ResourceSubscription): Buffer =>
  Buffer.from(JSON.stringify({ backend, uri }));

const decodeSubscription = (stored: Buffer): readonly ResourceSubscription[] => {
  const { backend, uri } = parsed(stored) ?? {};
  return typeof backend === 'string' && typeof uri === 'string' ? [{ backend, uri }] : [];
};

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';

const isObjectText = (text: Buffer | undefined): text is Buffer => text !== undefined && parsed(text) !== undefined;

const parsed = (text: Buffer): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
};

const withPrefix = (fields: Fields, prefix: string): (readonly [string, Buffer])[] =>
  [...fields].flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
  );
