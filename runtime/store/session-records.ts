import { createHash } from 'node:crypto';
import type { Caller } from '../call.ts';
import { VmcpError } from '../errors.ts';
import {
  type BackendSession,
  backendField,
  decodeBackendSession,
  decodeRecord,
  encodeBackendSession,
  encodeStart,
  LOG_LEVEL,
  RECORD_LIMITS,
  type SavedBackendSession,
  type SessionRecord,
  type SessionStart,
  subscriptionField,
  encodeSubscription,
  type ResourceSubscription,
} from './session-record.ts';
import type { Room, Store } from './store.ts';

/** A session as a request names it: the id alone opens nothing. */
export interface SessionRef {
  readonly id: string;
  readonly caller: Caller;
}

/** Sessions as all replicas know them. Everything may throw VmcpError `store_unavailable`. */
export interface SessionRecords {
  /** Throws when there is one of that name already. */
  readonly create: (session: SessionRef, start: SessionStart) => Promise<void>;
  /** Begins its idle time anew. Undefined: unknown, ended, or another caller's, whose idle time goes on. */
  readonly find: (session: SessionRef) => Promise<SessionRecord | undefined>;
  /** Whether it is known still; its idle time goes on. */
  readonly isThere: (session: SessionRef) => Promise<boolean>;
  /** Begins its idle time anew without reading it. False: it is unknown by now. */
  readonly keepAlive: (session: SessionRef) => Promise<boolean>;
  /** Every replica is told to drop it. False: it was unknown already. */
  readonly end: (session: SessionRef) => Promise<boolean>;
  /** The changes: false, or undefined, when the session is unknown by now; none makes it anew. */
  readonly setLogLevel: (session: SessionRef, level: string) => Promise<boolean>;
  /** Of replicas that save at once the first wins; answers with the session that all go on with. */
  readonly saveBackendSession: (
    session: SessionRef,
    backend: string,
    opened: BackendSession,
  ) => Promise<SavedBackendSession | undefined>;
  /** Only if it is still that one: another replica may have opened a new one meanwhile. */
  readonly forgetBackendSession: (session: SessionRef, backend: string, gone: SavedBackendSession) => Promise<boolean>;
  readonly addSubscription: (session: SessionRef, subscription: ResourceSubscription) => Promise<boolean>;
  readonly removeSubscription: (session: SessionRef, subscription: ResourceSubscription) => Promise<boolean>;
}

export interface SessionTimes {
  /** Idle time after which a session ends. */
  readonly ttlMs: number;
  /** The same for one that nothing was sent on yet. */
  readonly unusedTtlMs: number;
}

export interface SessionBounds extends SessionTimes {
  /** Of all replicas together, roughly. One more ends one that nothing was sent on, or is refused. */
  readonly count: number;
}

/**
 * The name of a session among replicas: in keys, channels and messages. Made from the caller too, so that another caller finds
 * nothing, and one-way, so that a list of names gives nobody a session (decisions "Sessions").
 */
export const sessionName = ({ id, caller }: SessionRef): string =>
  digest(JSON.stringify(caller.kind === 'user' ? [id, 'user', caller.issuer, caller.subject] : [id, caller.kind]));

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * In a Redis Cluster only what lies on one node can be counted in one step with a change, and one node should not have all. Names are
 * digests, so that the parts fill evenly.
 */
const PARTS = 16;

/** What is one session's lies on one node of a Redis Cluster: the braces name the part that its name belongs to. */
export const keyOf = (what: string, name: string): string => `${what}:{${partOf(name)}}:${name}`;

const partOf = (name: string): number => (Buffer.from(name.slice(0, 2), 'base64url')[0] ?? 0) % PARTS;

const keyOfRecord = (session: SessionRef): string => keyOf('session', sessionName(session));

const roomOf = (session: SessionRef, { count }: SessionBounds): Room => ({
  name: `sessions:{${partOf(sessionName(session))}}`,
  limit: Math.ceil(count / PARTS),
});

export const sessionRecords = (
  store: Store,
  bounds: SessionBounds,
  deps: {
    readonly onCorrupt: (sessionName: string) => void;
    readonly announceEnd: (sessionName: string) => Promise<void>;
  },
): SessionRecords => ({
  create: async (session, start) => {
    checkSize('capabilities', start.capabilities, RECORD_LIMITS.capabilitiesBytes);
    if (start.clientInfo) checkSize('clientInfo', start.clientInfo, RECORD_LIMITS.clientInfoBytes);
    const ttlMs = Math.min(bounds.ttlMs, bounds.unusedTtlMs);
    const isNew = await store.createMap(keyOfRecord(session), encodeStart(start), ttlMs, roomOf(session, bounds));
    if (!isNew) throw new VmcpError('internal', 'internal error', { detail: 'two sessions of one id' });
  },
  find: async (session) => {
    const fields = await store.readMap(keyOfRecord(session), bounds.ttlMs, roomOf(session, bounds));
    const record = fields && decodeRecord(fields);
    if (fields && !record) deps.onCorrupt(sessionName(session));
    return record;
  },
  isThere: async (session) => (await store.readMap(keyOfRecord(session))) !== undefined,
  keepAlive: (session) => store.touch(keyOfRecord(session), bounds.ttlMs, roomOf(session, bounds)),
  end: async (session) => {
    const wasKnown = await store.delete(keyOfRecord(session), roomOf(session, bounds));
    await deps.announceEnd(sessionName(session));
    return wasKnown;
  },
  setLogLevel: (session, level) => store.setField(keyOfRecord(session), LOG_LEVEL, Buffer.from(level)),
  saveBackendSession: async (session, backend, opened) => {
    const value = encodeBackendSession(opened);
    if (value.length > RECORD_LIMITS.backendSessionBytes) {
      throw new VmcpError('backend_unavailable', `the session id of backend ${backend} is too long`);
    }
    const kept = await store.setFieldIfAbsent(keyOfRecord(session), backendField(backend), value);
    return kept && decodeBackendSession(kept);
  },
  forgetBackendSession: (session, backend, gone) =>
    store.deleteField(keyOfRecord(session), backendField(backend), gone.stored),
  addSubscription: async (session, subscription) => {
    checkSize('uri', Buffer.from(subscription.uri), RECORD_LIMITS.uriBytes);
    const value = encodeSubscription(subscription);
    return store.setField(
      keyOfRecord(session),
      subscriptionField(digest(value.toString())),
      value,
      RECORD_LIMITS.fields,
    );
  },
  removeSubscription: (session, subscription) =>
    store.deleteField(keyOfRecord(session), subscriptionField(digest(encodeSubscription(subscription).toString()))),
});

const checkSize = (what: string, value: Buffer, maxBytes: number): void => {
  if (value.length > maxBytes) throw new VmcpError('invalid_params', `${what} has more than ${maxBytes} bytes`);
};
