/** A queue in which tenants take turns; the items of one tenant keep their order. */
export class FairQueue<Item> {
  /** In the order of their turns; none without items. */
  readonly #tenants = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(tenant: string, item: Item): void {
    const items = this.#tenants.get(tenant);
    if (items === undefined) this.#tenants.set(tenant, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** Puts an item before all others. */
  addFirst(tenant: string, item: Item): void {
    const items = this.#tenants.get(tenant) ?? [];
    const others = [...this.#tenants];
    this.#tenants.clear();
    this.#tenants.set(tenant, [item, ...items]);
    for (const [each, waiting] of others) if (each !== tenant) this.#tenants.set(each, waiting);
    this.#size += 1;
  }

  /** Removes and returns the first item of the next tenant that may have a turn. */
  take(mayHaveTurn: (tenant: string) => boolean = () => true): Item | undefined {
    for (const [tenant, items] of this.#tenants) {
      if (!mayHaveTurn(tenant)) continue;
      const item = items.shift();
      this.#size -= 1;
      this.#tenants.delete(tenant);
      if (items.length > 0) this.#tenants.set(tenant, items);
      return item;
    }
    return undefined;
  }

  /** Takes an item out; nothing happens where it does not wait any more. */
  remove(tenant: string, item: Item): void {
    const items = this.#tenants.get(tenant) ?? [];
    const place = items.indexOf(item);
    if (place < 0) return;
    items.splice(place, 1);
    this.#size -= 1;
    if (items.length === 0) this.#tenants.delete(tenant);
  }

  /** Removes and returns all. */
  clear(): readonly Item[] {
    const items = [...this.#tenants.values()].flat();
    this.#tenants.clear();
    this.#size = 0;
    return items;
  }
}
