/** How much is remembered at most; what was asked for longest ago goes first. */
export interface RecentBounds {
  readonly count: number;
  readonly bytes: number;
}

/** Values by key, as many of those asked for last as the bounds allow. One that is larger than all of them together is not kept. */
export interface Recent<V> {
  readonly get: (key: string) => V | undefined;
  /** Puts the value in, or weighs the one that is there anew. */
  readonly set: (key: string, value: V, bytes: number) => void;
  readonly delete: (key: string) => void;
}

export const recent = <V>(bounds: RecentBounds): Recent<V> => {
  // Maps keep the order of insertion: the first key is the one asked for longest ago.
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
  };
};
