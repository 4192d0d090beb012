import type { KubeObject } from '../object.ts';

/** What became of one object; `before` is absent for a new one, `after` for a deleted one. */
export interface Change {
  readonly before?: KubeObject;
  readonly after?: KubeObject;
}

/**
 * The newest known form of every object of one kind, by namespace. Answers to our own writes are put here too, so a
 * reconcile never works on a state older than what it wrote itself; an event older than what is held is ignored.
 */
export class Store {
  readonly #namespaces = new Map<string, Map<string, KubeObject>>();
  readonly #onChange: (change: Change) => void;

  constructor(onChange: (change: Change) => void) {
    this.#onChange = onChange;
  }

  get(namespace: string, name: string): KubeObject | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  /** In name order. */
  list(namespace: string): readonly KubeObject[] {
    const objects = [...(this.#namespaces.get(namespace)?.values() ?? [])];
    return objects.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  all(): readonly KubeObject[] {
    return [...this.#namespaces.values()].flatMap((objects) => [...objects.values()]);
  }

  put(object: KubeObject): void {
    const namespace = object.metadata.namespace ?? '';
    const before = this.get(namespace, object.metadata.name);
    if (before !== undefined && !isNewer(object, before)) {
      return;
    }
    const objects = this.#namespaces.get(namespace) ?? new Map<string, KubeObject>();
    this.#namespaces.set(namespace, objects.set(object.metadata.name, object));
    this.#onChange(before === undefined ? { after: object } : { before, after: object });
  }

  /** `last` is the object as the deletion left it; a newer one of the same name stays. */
  remove(last: KubeObject): void {
    const namespace = last.metadata.namespace ?? '';
    const before = this.get(namespace, last.metadata.name);
    if (before === undefined || isNewer(before, last)) {
      return;
    }
    const objects = this.#namespaces.get(namespace);
    objects?.delete(last.metadata.name);
    if (objects?.size === 0) {
      this.#namespaces.delete(namespace);
    }
    this.#onChange({ before });
  }

  /** Takes a whole list made at `resourceVersion`; what is held and newer than it stays. An empty namespace means all. */
  replace(items: readonly KubeObject[], namespace: string, resourceVersion: string): void {
    const listed = new Set(items.map((item) => `${item.metadata.namespace ?? ''}/${item.metadata.name}`));
    const held = namespace === '' ? this.all() : this.list(namespace);
    for (const item of items) {
      this.put(item);
    }
    for (const object of held) {
      const isGone = !listed.has(`${object.metadata.namespace ?? ''}/${object.metadata.name}`);
      if (isGone && versionOf(object) <= BigInt(resourceVersion)) {
        this.remove(object);
      }
    }
  }
}

/** Resource versions of one kind are decimal numbers that grow (KEP-5504). */
const versionOf = (object: KubeObject): bigint => BigInt(object.metadata.resourceVersion ?? '0');

const isNewer = (candidate: KubeObject, than: KubeObject): boolean => versionOf(candidate) > versionOf(than);
