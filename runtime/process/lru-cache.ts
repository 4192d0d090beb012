/** Bounds of a cache; the least recently used entry is evicted first. */
export interface LruBounds {
  readonly count: number;
  readonly bytes: number;
}

/** A cache of the most recently used values. A value larger than the byte bound is not kept. */
export interface LruCache<V> {
  readonly get: (key: string) => V | undefined;
  /** Adds or replaces a value, which counts as `bytes`. */
  readonly set: (key: string, value: V, bytes: number) => void;
  readonly delete: (key: string) => void;
  /** Deletes every value of which this does not hold. */
  readonly retain: (isKept: (value: V) => boolean) => void;
  readonly count: () => number;
}

/** An empty cache with these bounds. */
export const lruCache = <V>(bounds: LruBounds): LruCache<V> => {
  // Maps keep the order of insertion: the first key is the least recently used one.
  const known = new Map<string, { readonly value: V; readonly bytes: number }>();
  let total = 0;
  const remove = (key: string): void => {
    total -= known.get(key)?.bytes ?? 0;
    known.delete(key);
  };
  return {
    get: (key) => {
      const entry = known.get(key);
      if (!entry) return undefined;
      known.delete(key);
      known.set(key, entry);
      return entry.value;
    },
    set: (key, value, bytes) => {
      remove(key);
      known.set(key, { value, bytes });
      total += bytes;
      for (const oldest of known.keys()) {
        if (known.size <= bounds.count && total <= bounds.bytes) break;
        remove(oldest);
      }
    },
    delete: remove,
    retain: (isKept) => {
      for (const [key, { value }] of known) if (!isKept(value)) remove(key);
    },
    count: () => known.size,
  };
};
