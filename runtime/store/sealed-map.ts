import { keyOf, PARTS, partOf, seal, sessionName, type SessionRef, unseal } from './session-name.ts';
import type { Fields, QuotaGroup, Store } from './store.ts';

/**
 * The map of one session; a value that is not sealed for this session and field is ignored. Results are those of
 * `Store`.
 */
export interface SealedMap {
  readonly create: (fields: Fields, ttlMs: number) => Promise<boolean>;
  /** Empty when one of the fields is not sealed properly. */
  readonly read: (ttlMs?: number) => Promise<Fields | undefined>;
  readonly touch: (ttlMs: number) => Promise<boolean>;
  readonly remove: () => Promise<boolean>;
  readonly set: (field: string, value: Buffer, maxFields?: number) => Promise<boolean>;
  readonly setIfAbsent: (field: string, value: Buffer) => Promise<Buffer | undefined>;
  readonly drop: (field: string, only?: Buffer) => Promise<boolean>;
}

/** `count`: approximate limit of the maps of all sessions. */
export const sealedMap = (store: Store, session: SessionRef, count: number): SealedMap => {
  const name = sessionName(session);
  const key = keyOf('session', name);
  const group: QuotaGroup = { name: `sessions:{${partOf(name)}}`, limit: Math.ceil(count / PARTS) };
  return {
    create: (fields, ttlMs) => {
      const sealed = [...fields].map(([field, value]) => [field, seal(session, field, value)] as const);
      return store.createMap(key, new Map(sealed), ttlMs, group);
    },
    read: async (ttlMs) => {
      const fields = await store.readMap(key, ttlMs, group);
      return fields && opened(session, fields);
    },
    touch: (ttlMs) => store.touch(key, ttlMs, group),
    remove: () => store.delete(key, group),
    set: (field, value, maxFields) => store.setField(key, field, seal(session, field, value), maxFields),
    setIfAbsent: async (field, value) => {
      const kept = await store.setFieldIfAbsent(key, field, seal(session, field, value));
      return kept && unseal(session, field, kept);
    },
    drop: (field, only) => store.deleteField(key, field, only && seal(session, field, only)),
  };
};

const opened = (session: SessionRef, fields: Fields): Fields => {
  const all = new Map<string, Buffer>();
  for (const [field, sealed] of fields) {
    const value = unseal(session, field, sealed);
    if (!value) return new Map();
    all.set(field, value);
  }
  return all;
};
