interface Usage {
  readonly bytesByKey: Map<string, number>;
  sum: number;
}

/** Counts the bytes that are held for each namespace, by a key within it, against a maximum for each namespace. */
export class NamespaceQuota {
  readonly #maxBytes: number;
  readonly #namespaces = new Map<string, Usage>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are counted for the namespace. */
  used(namespace: string): number {
    return this.#namespaces.get(namespace)?.sum ?? 0;
  }

  /** Bytes that are counted for this key; 0 for one that is not counted. */
  bytesOf(namespace: string, key: string): number {
    return this.#namespaces.get(namespace)?.bytesByKey.get(key) ?? 0;
  }

  /** Bytes that this key may have, with those it has already: 0 and less where others use all of the quota. */
  available(namespace: string, key: string): number {
    return this.#maxBytes - this.used(namespace) + this.bytesOf(namespace, key);
  }

  /** Every key that is counted, of one namespace or of all (undefined). */
  keys(namespace?: string): readonly string[] {
    const usages = namespace === undefined ? [...this.#namespaces.values()] : [this.#namespaces.get(namespace)];
    return usages.flatMap((usage) => [...(usage?.bytesByKey.keys() ?? [])]);
  }

  /** Counts so many bytes in place of those that the key had, whether the quota has room for them or not. */
  set(namespace: string, key: string, bytes: number): void {
    this.release(namespace, key);
    const usage = this.#namespaces.get(namespace) ?? { bytesByKey: new Map<string, number>(), sum: 0 };
    usage.bytesByKey.set(key, bytes);
    usage.sum += bytes;
    this.#namespaces.set(namespace, usage);
  }

  /** The same where there is room. False: there is none, and the key is not counted any more. */
  tryReserve(namespace: string, key: string, bytes: number): boolean {
    this.release(namespace, key);
    if (bytes > this.available(namespace, key)) return false;
    this.set(namespace, key, bytes);
    return true;
  }

  release(namespace: string, key: string): void {
    const usage = this.#namespaces.get(namespace);
    if (usage === undefined) return;
    usage.sum -= usage.bytesByKey.get(key) ?? 0;
    usage.bytesByKey.delete(key);
    if (usage.bytesByKey.size === 0) this.#namespaces.delete(namespace);
  }
}
