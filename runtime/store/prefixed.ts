import { bounded } from './bounded.ts';
import type { Bucket, QuotaGroup, Store } from './store.ts';

/**
 * A view of a store that several users share: `prefix` precedes its keys, groups and channels, so that views do not
 * collide. In a cluster the prefix has no `{…}`. Closing a view ends its subscriptions and leaves the store open.
 */
export const prefixed = (store: Store, prefix: string): Store => {
  const ends = new Set<() => void>();
  const at = (name: string): string => prefix + name;
  const within = (group: QuotaGroup | undefined): QuotaGroup | undefined => group && { ...group, name: at(group.name) };
  // Made once for buckets that are used again, as those of a user are.
  const buckets = new WeakMap<Bucket, Bucket>();
  const bucketAt = (bucket: Bucket): Bucket => {
    const before = buckets.get(bucket);
    if (before) return before;
    const { key, overflowKey } = bucket;
    const prefixed = { ...bucket, key: at(key), ...(overflowKey !== undefined && { overflowKey: at(overflowKey) }) };
    buckets.set(bucket, prefixed);
    return prefixed;
  };
  const known = new WeakMap<readonly Bucket[], readonly Bucket[]>();
  const bucketsAt = (asked: readonly Bucket[]): readonly Bucket[] => {
    const before = known.get(asked);
    if (before) return before;
    const prefixed = asked.map(bucketAt);
    known.set(asked, prefixed);
    return prefixed;
  };
  return bounded({
    ...store,
    get: (key) => store.get(at(key)),
    set: (key, value, ttlMs) => store.set(at(key), value, ttlMs),
    setIfAbsent: (key, value, ttlMs) => store.setIfAbsent(at(key), value, ttlMs),
    take: (key) => store.take(at(key)),
    delete: (key, group) => store.delete(at(key), within(group)),
    touch: (key, ttlMs, group) => store.touch(at(key), ttlMs, within(group)),
    createMap: (key, fields, ttlMs, group) => store.createMap(at(key), fields, ttlMs, within(group)),
    readMap: (key, ttlMs, group) => store.readMap(at(key), ttlMs, within(group)),
    setField: (key, field, value, maxFields) => store.setField(at(key), field, value, maxFields),
    setFieldIfAbsent: (key, field, value) => store.setFieldIfAbsent(at(key), field, value),
    replaceField: (key, field, expected, value) => store.replaceField(at(key), field, expected, value),
    deleteField: (key, field, only) => store.deleteField(at(key), field, only),
    takeTokens: (buckets) => store.takeTokens(bucketsAt(buckets)),
    countTokens: (buckets) => store.countTokens(bucketsAt(buckets)),
    publish: (channel, message, how) => store.publish(at(channel), message, how),
    subscribe: (channel, listener) => {
      const { isLive, end } = store.subscribe(at(channel), listener);
      ends.add(end);
      return { isLive, end: () => void (ends.delete(end) && end()) };
    },
    close: async () => {
      for (const end of ends) end();
      ends.clear();
    },
  });
};
