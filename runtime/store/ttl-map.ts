import type { Clock } from '../process/index.ts';
import { type Fields, quotaExceeded, STORE_LIMITS, tooManyFields } from './store.ts';

export interface TtlMapLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** Approximate cost of an entry beside its bytes. */
const ENTRY_BYTES = 200;

interface Entry {
  value: Buffer | Map<string, Buffer>;
  bytes: number;
  endsAt: number;
}

/** A bounded map whose entries expire. */
export class TtlMap {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Pick<Clock, 'now'>;
  readonly #limits: TtlMapLimits;
  #bytes = 0;

  constructor(clock: Pick<Clock, 'now'>, limits: TtlMapLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.endsAt > this.#clock.now()) return entry;
    this.remove(key);
    return undefined;
  }

  value(key: string): Buffer | undefined {
    const value = this.entry(key)?.value;
    return value instanceof Map ? undefined : value;
  }

  map(key: string): Map<string, Buffer> | undefined {
    const value = this.entry(key)?.value;
    return value instanceof Map ? value : undefined;
  }

  put(key: string, value: Buffer | Map<string, Buffer>, ttlMs: number): void {
    const bytes = ENTRY_BYTES + key.length + (value instanceof Map ? sizeOf(value) : value.length);
    this.#makeRoom(bytes - (this.entry(key)?.bytes ?? 0), this.#entries.has(key) ? 0 : 1);
    this.remove(key);
    this.#entries.set(key, { value, bytes, endsAt: this.#clock.now() + ttlMs });
    this.#bytes += bytes;
  }

  remove(key: string): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    return entry.endsAt > this.#clock.now();
  }

  touch(key: string, ttlMs: number): boolean {
    const entry = this.entry(key);
    if (entry) entry.endsAt = this.#clock.now() + ttlMs;
    return entry !== undefined;
  }

  setField(key: string, field: string, value: Buffer, maxFields: number = STORE_LIMITS.fields): boolean {
    const map = this.map(key);
    if (!map) return false;
    if (!map.has(field) && map.size >= Math.min(maxFields, STORE_LIMITS.fields)) throw tooManyFields();
    const before = map.get(field);
    this.#grow(key, value.length - (before ? before.length : -field.length));
    map.set(field, value);
    return true;
  }

  deleteField(key: string, field: string, only: Buffer | undefined): boolean {
    const map = this.map(key);
    const value = map?.get(field);
    if (!map || !value || (only && !only.equals(value))) return false;
    this.#grow(key, -value.length - field.length);
    map.delete(field);
    if (map.size === 0) this.remove(key);
    return true;
  }

  endExpired(): void {
    for (const key of this.#entries.keys()) this.entry(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #grow(key: string, bytes: number): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    if (bytes > 0) this.#makeRoom(bytes, 0);
    entry.bytes += bytes;
    this.#bytes += bytes;
  }

  #makeRoom(bytes: number, entries: number): void {
    if (this.#hasRoom(bytes, entries)) return;
    this.endExpired();
    if (!this.#hasRoom(bytes, entries)) throw quotaExceeded();
  }

  #hasRoom(bytes: number, entries: number): boolean {
    return this.#bytes + bytes <= this.#limits.bytes && this.#entries.size + entries <= this.#limits.entries;
  }
}

const sizeOf = (fields: Fields): number =>
  [...fields].reduce((sum, [field, value]) => sum + field.length + value.length, 0);
