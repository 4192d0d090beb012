import { VmcpError } from '../errors.ts';
import {
  type Bucket,
  type Fields,
  type QuotaGroup,
  STORE_LIMITS,
  type Store,
  storeUnavailable,
  tooManyFields,
} from './store.ts';
import { bucketLifeMs } from './token-buckets.ts';

/**
 * Wraps a store of any kind so that all refuse alike: calls beyond `STORE_LIMITS`, and every call after `close`.
 * Refused calls do not reach the store itself.
 */
export const bounded = (store: Store): Store => {
  let isClosed = false;
  const within = async <T>(asked: StoreCall, call: () => Promise<T>): Promise<T> => {
    if (isClosed) throw storeUnavailable('closed');
    check(asked);
    return call();
  };
  return {
    ...store,
    get: (key) => within({ key }, () => store.get(key)),
    set: (key, value, ttlMs) => within({ key, value, ttlMs }, () => store.set(key, value, ttlMs)),
    setIfAbsent: (key, value, ttlMs) => within({ key, value, ttlMs }, () => store.setIfAbsent(key, value, ttlMs)),
    take: (key) => within({ key }, () => store.take(key)),
    delete: (key, group) => within({ key, group }, () => store.delete(key, group)),
    touch: (key, ttlMs, group) => within({ key, ttlMs, group }, () => store.touch(key, ttlMs, group)),
    createMap: (key, fields, ttlMs, group) =>
      within({ key, fields, ttlMs, group }, () => store.createMap(key, fields, ttlMs, group)),
    readMap: (key, ttlMs, group) => within({ key, ttlMs, group }, () => store.readMap(key, ttlMs, group)),
    setField: (key, field, value, maxFields) =>
      within({ key, field, value }, () => store.setField(key, field, value, maxFields)),
    setFieldIfAbsent: (key, field, value) =>
      within({ key, field, value }, () => store.setFieldIfAbsent(key, field, value)),
    replaceField: (key, field, expected, value) =>
      within({ key, field, value }, () => store.replaceField(key, field, expected, value)),
    deleteField: (key, field, only) => within({ key, field, value: only }, () => store.deleteField(key, field, only)),
    takeTokens: (buckets) => {
      try {
        if (isClosed) throw storeUnavailable('closed');
        checkBuckets(buckets);
        return store.takeTokens(buckets);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    countTokens: async (buckets) => {
      checkBuckets(buckets);
      return within({ key: '' }, () => store.countTokens(buckets));
    },
    publish: (key, message, how) => within({ key, message }, () => store.publish(key, message, how)),
    subscribe: (key, listener) => {
      check({ key });
      return store.subscribe(key, listener);
    },
    close: () => {
      isClosed = true;
      return store.close();
    },
  };
};

interface StoreCall {
  /** Or a channel. */
  readonly key: string;
  readonly group?: QuotaGroup | undefined;
  readonly field?: string;
  readonly value?: Buffer | undefined;
  readonly fields?: Fields;
  readonly ttlMs?: number | undefined;
  readonly message?: Buffer;
}

const check = ({ key, group, field = '', value, fields, ttlMs = 1, message }: StoreCall): void => {
  checkName('a key', key, STORE_LIMITS.keyBytes);
  checkName('a quota group', group?.name ?? '', STORE_LIMITS.keyBytes);
  checkName('a field', field, STORE_LIMITS.fieldBytes);
  checkSize('a value', value?.length ?? 0, STORE_LIMITS.valueBytes);
  checkSize('a message', message?.length ?? 0, STORE_LIMITS.messageBytes);
  if (fields) checkFields(fields);
  if (!(ttlMs >= 1 && ttlMs <= STORE_LIMITS.ttlMs)) throw outOfBounds(`a life of ${ttlMs} ms`);
};

/** What was checked: the buckets of a user are one list, which is used again and again. */
const checked = new WeakSet<readonly Bucket[]>();

const checkBuckets = (buckets: readonly Bucket[]): void => {
  if (checked.has(buckets)) return;
  for (const bucket of buckets)
    for (const key of [bucket.key, bucket.overflowKey ?? '']) check({ key, ttlMs: bucketLifeMs(bucket) });
  checked.add(buckets);
};

const checkFields = (fields: Fields): void => {
  if (fields.size === 0) throw outOfBounds('a map without fields');
  if (fields.size > STORE_LIMITS.fields) throw tooManyFields();
  for (const [field, value] of fields) {
    checkName('a field', field, STORE_LIMITS.fieldBytes);
    checkSize('a value', value.length, STORE_LIMITS.valueBytes);
  }
};

/** Half a surrogate pair is sent as U+FFFD (WHATWG Encoding §8.1), and so two names would become one. */
const checkName = (what: string, name: string, maxBytes: number): void => {
  if (!name.isWellFormed()) throw outOfBounds(`${what} that is no Unicode text`);
  checkSize(what, Buffer.byteLength(name), maxBytes);
};

const checkSize = (what: string, bytes: number, maxBytes: number): void => {
  if (bytes > maxBytes) throw outOfBounds(`${what} of ${bytes} bytes`);
};

const outOfBounds = (what: string): VmcpError =>
  new VmcpError('internal', 'internal error', { detail: `store: ${what}` });
