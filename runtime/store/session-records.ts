import { VmcpError } from '../errors.ts';
import { type SealedMap, sealedMap } from './sealed-map.ts';
import { digest, sessionName, type SessionRef } from './session-name.ts';
import {
  type BackendSession,
  backendField,
  decodeBackendSession,
  decodeRecord,
  encodeBackendSession,
  encodeStart,
  LOG_LEVEL,
  RECORD_LIMITS,
  RETIREMENT,
  type SavedBackendSession,
  type SessionRecord,
  type SessionStart,
  subscriptionField,
  encodeSubscription,
  type ResourceSubscription,
} from './session-record.ts';
import type { Store } from './store.ts';

/** The session records that all replicas share. Every function may throw VmcpError `store_unavailable`. */
export interface SessionRecords {
  /** Throws `internal` when the session exists already. */
  readonly create: (session: SessionRef, start: SessionStart) => Promise<void>;
  /** Reads the record and restarts its idle time. Undefined: the session is unknown, ended, or another caller's. */
  readonly find: (session: SessionRef) => Promise<SessionRecord | undefined>;
  /** Whether the session still exists; does not restart its idle time. */
  readonly isThere: (session: SessionRef) => Promise<boolean>;
  /** Restarts the idle time without reading the record. False: the session no longer exists. */
  readonly keepAlive: (session: SessionRef) => Promise<boolean>;
  /** Deletes the record and announces the end to every replica. False: the session did not exist any more. */
  readonly end: (session: SessionRef) => Promise<boolean>;
  /**
   * This and the following changes resolve with false or undefined when the session no longer exists; none creates it.
   */
  readonly setLogLevel: (session: SessionRef, level: string) => Promise<boolean>;
  /** Notes that a replica is about to end the session; `mark` tells this from what other replicas decide. */
  readonly retire: (session: SessionRef, mark: string) => Promise<boolean>;
  /** False: somebody else has taken it back, or a later decision has taken its place. */
  readonly takeBackRetirement: (session: SessionRef, mark: string) => Promise<boolean>;
  /** When several replicas save at once, the first wins; resolves with the session that all replicas use. */
  readonly saveBackendSession: (
    session: SessionRef,
    backend: string,
    opened: BackendSession,
  ) => Promise<SavedBackendSession | undefined>;
  /** Deletes the backend session only if it is still `gone`: another replica may have saved a new one. */
  readonly forgetBackendSession: (session: SessionRef, backend: string, gone: SavedBackendSession) => Promise<boolean>;
  readonly addSubscription: (session: SessionRef, subscription: ResourceSubscription) => Promise<boolean>;
  readonly removeSubscription: (session: SessionRef, subscription: ResourceSubscription) => Promise<boolean>;
}

export interface SessionTimes {
  /** Idle time after which a session ends. */
  readonly ttlMs: number;
  /** The same for a session that has had no request since `initialize`. */
  readonly unusedTtlMs: number;
}

export interface SessionBounds extends SessionTimes {
  /** Approximate limit for all replicas together. One more session ends one that has had no request, or is refused. */
  readonly count: number;
}

/** The session records in this store. `onCorrupt` is called for a record that cannot be decoded. */
export const sessionRecords = (
  store: Store,
  bounds: SessionBounds,
  deps: {
    readonly onCorrupt: (sessionName: string) => void;
    readonly announceEnd: (session: SessionRef) => Promise<void>;
  },
): SessionRecords => {
  const mapOf = (session: SessionRef): SealedMap => sealedMap(store, session, bounds.count);
  return {
    create: async (session, start) => {
      checkSize('capabilities', start.capabilities, RECORD_LIMITS.capabilitiesBytes);
      const ttlMs = Math.min(bounds.ttlMs, bounds.unusedTtlMs);
      const isNew = await mapOf(session).create(encodeStart(start), ttlMs);
      if (!isNew) throw new VmcpError('internal', 'internal error', { detail: 'two sessions of one id' });
    },
    find: async (session) => {
      const fields = await mapOf(session).read(bounds.ttlMs);
      const record = fields && decodeRecord(fields);
      if (fields && !record) deps.onCorrupt(sessionName(session));
      return record;
    },
    isThere: async (session) => (await mapOf(session).read()) !== undefined,
    keepAlive: (session) => mapOf(session).touch(bounds.ttlMs),
    end: async (session) => {
      const wasKnown = await mapOf(session).remove();
      await deps.announceEnd(session);
      return wasKnown;
    },
    setLogLevel: (session, level) => mapOf(session).set(LOG_LEVEL, Buffer.from(level)),
    retire: (session, mark) => mapOf(session).set(RETIREMENT, Buffer.from(mark)),
    takeBackRetirement: (session, mark) => mapOf(session).drop(RETIREMENT, Buffer.from(mark)),
    saveBackendSession: async (session, backend, opened) => {
      const value = encodeBackendSession(opened);
      if (value.length > RECORD_LIMITS.backendSessionBytes) {
        throw new VmcpError('backend_unavailable', `the session id of backend ${backend} is too long`);
      }
      const kept = await mapOf(session).setIfAbsent(backendField(backend), value);
      return kept && decodeBackendSession(kept);
    },
    forgetBackendSession: (session, backend, gone) => mapOf(session).drop(backendField(backend), gone.stored),
    addSubscription: async (session, subscription) => {
      checkSize('uri', Buffer.from(subscription.uri), RECORD_LIMITS.uriBytes);
      const value = encodeSubscription(subscription);
      return mapOf(session).set(subscriptionFieldOf(value), value, RECORD_LIMITS.fields);
    },
    removeSubscription: (session, subscription) =>
      mapOf(session).drop(subscriptionFieldOf(encodeSubscription(subscription))),
  };
};

const subscriptionFieldOf = (value: Buffer): string => subscriptionField(digest(value.toString()));

const checkSize = (what: string, value: Buffer, maxBytes: number): void => {
  if (value.length > maxBytes) throw new VmcpError('invalid_params', `${what} has more than ${maxBytes} bytes`);
};
