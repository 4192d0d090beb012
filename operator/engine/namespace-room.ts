interface Taken {
  readonly byName: Map<string, number>;
  sum: number;
}

/** What is remembered of the objects of each namespace has room for so many bytes. */
export class NamespaceRoom {
  readonly #mostBytes: number;
  readonly #namespaces = new Map<string, Taken>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Takes so much instead of what the name had before. False: there is not so much, and the name has none from then on.
   */
  take(namespace: string, name: string, bytes: number): boolean {
    this.free(namespace, name);
    const taken = this.#namespaces.get(namespace) ?? { byName: new Map<string, number>(), sum: 0 };
    if (taken.sum + bytes > this.#mostBytes) return false;
    taken.byName.set(name, bytes);
    taken.sum += bytes;
    this.#namespaces.set(namespace, taken);
    return true;
  }

  free(namespace: string, name: string): void {
    const taken = this.#namespaces.get(namespace);
    if (taken === undefined) return;
    taken.sum -= taken.byName.get(name) ?? 0;
    taken.byName.delete(name);
    if (taken.byName.size === 0) this.#namespaces.delete(namespace);
  }
}
