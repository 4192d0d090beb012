/** What is remembered of the objects of each namespace has room for so many bytes. */
export class NamespaceRoom {
  readonly #mostBytes: number;
  /** By namespace, then by name. */
  readonly #taken = new Map<string, Map<string, number>>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Takes so much instead of what the name had before. False: there is not so much, and the name has none from then on. */
  take(namespace: string, name: string, bytes: number): boolean {
    this.free(namespace, name);
    const taken = this.#taken.get(namespace) ?? new Map<string, number>();
    const sum = taken.values().reduce((total, each) => total + each, 0);
    if (sum + bytes > this.#mostBytes) return false;
    this.#taken.set(namespace, taken.set(name, bytes));
    return true;
  }

  free(namespace: string, name: string): void {
    const taken = this.#taken.get(namespace);
    taken?.delete(name);
    if (taken?.size === 0) this.#taken.delete(namespace);
  }
}
