import type { Clock } from '../process/index.ts';
import { bounded } from './bounded.ts';
import { MemoryBuckets } from './memory-buckets.ts';
import { QuotaGroups } from './quota-groups.ts';
import { TtlMap, type TtlMapLimits } from './ttl-map.ts';
import type { Fields, Store } from './store.ts';

const LIMITS: TtlMapLimits = { entries: 100_000, bytes: 256 * 1024 * 1024 };
const SWEEP_MS = 60_000;

/**
 * A store in this process: lost when it ends, and not visible to other replicas. Values are copied, as over a socket.
 */
export const memoryStore = ({ clock }: { readonly clock: Clock }, limits: TtlMapLimits = LIMITS): Store => {
  const entries = new TtlMap(clock, limits);
  const groups = new QuotaGroups(clock);
  const tokens = new MemoryBuckets(clock);
  const messages = localMessages();
  const sweep = (): void => {
    entries.endExpired();
    groups.endExpired();
    timer = clock.after(SWEEP_MS, sweep);
  };
  let timer = clock.after(SWEEP_MS, sweep);
  return bounded({
    ...valuesOn(entries, groups),
    ...mapsOn(entries, groups, clock),
    takeTokens: (buckets) => tokens.take(buckets),
    countTokens: async (buckets) => tokens.count(buckets),
    bucketCount: () => tokens.size,
    ...messages,
    state: () => 'up',
    onState: () => () => {},
    firstAnswer: Promise.resolve(),
    close: async () => {
      timer.cancel();
      messages.endAll();
      entries.clear();
      groups.clear();
      tokens.clear();
    },
  });
};

const valuesOn = (
  entries: TtlMap,
  groups: QuotaGroups,
): Pick<Store, 'get' | 'set' | 'setIfAbsent' | 'take' | 'delete' | 'touch'> => ({
  get: async (key) => copyOf(entries.value(key)),
  set: async (key, value, ttlMs) => entries.put(key, copyOf(value), ttlMs),
  setIfAbsent: async (key, value, ttlMs) => {
    if (entries.entry(key)) return false;
    entries.put(key, copyOf(value), ttlMs);
    return true;
  },
  take: async (key) => {
    const value = entries.value(key);
    if (value) entries.remove(key);
    return value;
  },
  delete: async (key, group) => {
    if (group) groups.leave(key, group);
    return entries.remove(key);
  },
  touch: async (key, ttlMs, group) => {
    const isThere = entries.touch(key, ttlMs);
    if (isThere && group) groups.use(key, group, ttlMs);
    return isThere;
  },
});

const mapsOn = (
  entries: TtlMap,
  groups: QuotaGroups,
  clock: Pick<Clock, 'now'>,
): Pick<Store, 'createMap' | 'readMap' | 'setField' | 'setFieldIfAbsent' | 'replaceField' | 'deleteField'> => ({
  createMap: async (key, fields, ttlMs, group) => {
    if (entries.entry(key)) return false;
    const displaced = group && groups.displacedBy(key, group);
    // Throws when the process has no room for the map: then no other map is displaced.
    entries.put(key, copyOfAll(fields), ttlMs);
    if (group) groups.enter(key, group, ttlMs);
    if (group && displaced !== undefined) groups.leave(displaced, group);
    if (displaced !== undefined) entries.remove(displaced);
    return true;
  },
  readMap: async (key, ttlMs, group) => {
    const map = entries.map(key);
    if (map && ttlMs !== undefined) entries.touch(key, ttlMs);
    if (map && ttlMs !== undefined && group) groups.use(key, group, ttlMs);
    return map && Object.assign(copyOfAll(map), { readAtMs: clock.now() });
  },
  setField: async (key, field, value, maxFields) => entries.setField(key, field, copyOf(value), maxFields),
  setFieldIfAbsent: async (key, field, value) => {
    const kept = entries.map(key)?.get(field);
    if (kept) return copyOf(kept);
    return entries.setField(key, field, copyOf(value)) ? copyOf(value) : undefined;
  },
  replaceField: async (key, field, expected, value) => {
    const isExpected = entries.map(key)?.get(field)?.equals(expected) ?? false;
    return isExpected && entries.setField(key, field, copyOf(value));
  },
  deleteField: async (key, field, only) => entries.deleteField(key, field, only),
});

const copyOfAll = (fields: Fields): Map<string, Buffer> =>
  new Map([...fields].map(([field, value]) => [field, copyOf(value)]));

function copyOf(value: Buffer): Buffer;
function copyOf(value: Buffer | undefined): Buffer | undefined;
function copyOf(value: Buffer | undefined): Buffer | undefined {
  return value && Buffer.from(value);
}

/** Messages within this process. */
const localMessages = (): Pick<Store, 'publish' | 'subscribe'> & { readonly endAll: () => void } => {
  const channels = new Map<string, Set<Listener>>();
  return {
    publish: async (channel, message) => {
      const sent = Buffer.from(message);
      for (const listener of channels.get(channel) ?? []) {
        // Delivered after the sender's call, as with any other store, and not to listeners that were removed meanwhile.
        queueMicrotask(() => channels.get(channel)?.has(listener) && listener(sent));
      }
    },
    subscribe: (channel, listener) => {
      // One function may subscribe twice; each time is a subscription of its own.
      const own: Listener = (message) => listener(message);
      channels.set(channel, (channels.get(channel) ?? new Set()).add(own));
      const end = (): void => {
        const listeners = channels.get(channel);
        if (listeners?.delete(own) && listeners.size === 0) channels.delete(channel);
      };
      return { isLive: Promise.resolve(), end };
    },
    endAll: () => channels.clear(),
  };
};

type Listener = (message: Buffer) => void;
