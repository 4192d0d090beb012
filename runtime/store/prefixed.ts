import { bounded } from './bounded.ts';
import type { Room, Store } from './store.ts';

/**
 * A view of a store for one of several that share it: `prefix` stands before its keys, rooms and channels, so that it meets none of the
 * others. In a cluster it has no `{…}`. To close a view ends what was subscribed to through it, and leaves the store open.
 */
export const prefixed = (store: Store, prefix: string): Store => {
  const ends = new Set<() => void>();
  const at = (name: string): string => prefix + name;
  const within = (room: Room | undefined): Room | undefined => room && { ...room, name: at(room.name) };
  return bounded({
    ...store,
    get: (key) => store.get(at(key)),
    set: (key, value, ttlMs) => store.set(at(key), value, ttlMs),
    setIfAbsent: (key, value, ttlMs) => store.setIfAbsent(at(key), value, ttlMs),
    take: (key) => store.take(at(key)),
    delete: (key, room) => store.delete(at(key), within(room)),
    touch: (key, ttlMs, room) => store.touch(at(key), ttlMs, within(room)),
    createMap: (key, fields, ttlMs, room) => store.createMap(at(key), fields, ttlMs, within(room)),
    readMap: (key, ttlMs, room) => store.readMap(at(key), ttlMs, within(room)),
    setField: (key, field, value, maxFields) => store.setField(at(key), field, value, maxFields),
    setFieldIfAbsent: (key, field, value) => store.setFieldIfAbsent(at(key), field, value),
    deleteField: (key, field, only) => store.deleteField(at(key), field, only),
    takeTokens: (buckets) => store.takeTokens(buckets.map((bucket) => ({ ...bucket, key: at(bucket.key) }))),
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
