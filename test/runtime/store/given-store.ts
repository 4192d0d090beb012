import type { Store } from '../../../runtime/store/store.ts';

/** What the parts of the contract are told of the store that they are about. */
export interface Given {
  readonly given: () => Store;
  /** One that no other test of this store uses. */
  readonly newKey: () => string;
  /** The longest key that it takes. */
  readonly keyBytes: number;
}

export const text = (value: Buffer | undefined): string | undefined => value?.toString();
export const bytes = (value: string): Buffer => Buffer.from(value);

/** A life that outlasts every test. */
export const LONG = 60_000;
/** A life that a test sees the end of. */
export const SHORT = 30;

export const soon = { timeoutMs: 5_000, intervalMs: 5 };

/** Every call about one key, or one channel. */
export const CALLS: Readonly<Record<string, (store: Store, key: string) => Promise<unknown>>> = {
  get: (store, key) => store.get(key),
  set: (store, key) => store.set(key, bytes('x'), LONG),
  setIfAbsent: (store, key) => store.setIfAbsent(key, bytes('x'), LONG),
  take: (store, key) => store.take(key),
  delete: (store, key) => store.delete(key),
  touch: (store, key) => store.touch(key, LONG),
  createMap: (store, key) => store.createMap(key, new Map([['a', bytes('x')]]), LONG),
  readMap: (store, key) => store.readMap(key),
  setField: (store, key) => store.setField(key, 'a', bytes('x')),
  setFieldIfAbsent: (store, key) => store.setFieldIfAbsent(key, 'a', bytes('x')),
  replaceField: (store, key) => store.replaceField(key, 'a', bytes('x'), bytes('y')),
  deleteField: (store, key) => store.deleteField(key, 'a'),
  takeTokens: async (store, key) => store.takeTokens([{ key, capacity: 1, refillPeriodMs: LONG }]),
  countTokens: (store, key) => store.countTokens([{ key, capacity: 1, refillPeriodMs: LONG }]),
  publish: (store, key) => store.publish(key, bytes('x')),
};
