/** Bounds of a cache; an entry that was not used lately is evicted first. */
export interface LruBounds {
  readonly count: number;
  readonly bytes: number;
}

/** A cache of the most recently used values. A value larger than the byte bound is not kept. */
export interface LruCache<V, K = string> {
  readonly get: (key: K) => V | undefined;
  /** Adds or replaces a value, which counts as `bytes`. */
  readonly set: (key: K, value: V, bytes: number) => void;
  readonly delete: (key: K) => void;
  /** Deletes every value of which this does not hold. */
  readonly retain: (isKept: (value: V) => boolean) => void;
  readonly count: () => number;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
  /** Since it was last the first in line. */
  isUsed: boolean;
}

/**
 * An empty cache with these bounds. Evicts by second chance: an entry that was used since it was last the first in line
 * goes back to the end of the line. So a use costs a flag, and only an eviction moves anything.
 */
export const lruCache = <V, K = string>(bounds: LruBounds): LruCache<V, K> => {
  // Maps keep the order of insertion.
  const line = new Map<K, Entry<V>>();
  let total = 0;
  const remove = (key: K): void => {
    total -= line.get(key)?.bytes ?? 0;
    line.delete(key);
  };
  const makeRoomFor = (bytes: number): void => {
    for (const [key, entry] of line) {
      if (line.size < bounds.count && total + bytes <= bounds.bytes) return;
      if (!entry.isUsed) {
        remove(key);
        continue;
      }
      entry.isUsed = false;
      line.delete(key);
      line.set(key, entry);
    }
  };
  return {
    get: (key) => {
      const entry = line.get(key);
      if (!entry) return undefined;
      entry.isUsed = true;
      return entry.value;
    },
    set: (key, value, bytes) => {
      remove(key);
      if (bytes > bounds.bytes || bounds.count < 1) return;
      makeRoomFor(bytes);
      line.set(key, { value, bytes, isUsed: false });
      total += bytes;
    },
    delete: remove,
    retain: (isKept) => {
      for (const [key, { value }] of line) if (!isKept(value)) remove(key);
    },
    count: () => line.size,
  };
};
