import { compareText } from '../../runtime/text.ts';
import type { KubeObject } from '../object.ts';
import { isOutline } from './held-metadata.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** What became of one object; `before` is absent for a new one, `after` for a deleted one. */
export interface Change {
  readonly before?: KubeObject;
  readonly after?: KubeObject;
}

/**
 * The newest known form of every object of one kind, by namespace and by owner. Answers to our own writes are taken
 * too, so a reconcile never works on a state older than what it wrote itself; an event older than what is held is
 * ignored, and so is an answer about an object whose deletion was reported meanwhile.
 */
export class Store {
  readonly #namespaces = new Map<string, Namespace>();
  /** Uid of an owner → its objects, by uid. */
  readonly #owned = new Map<string, Map<string, KubeObject>>();
  /** The version up to which every change is known, by namespace followed; the empty one stands for all. */
  readonly #observedVersions = new Map<string, bigint>();
  readonly #onChange: (change: Change) => void;
  readonly #counted: Counted | undefined;

  /** The store reports what it holds to the budget, if there is one. */
  constructor(onChange: (change: Change) => void, counted?: Counted) {
    this.#onChange = onChange;
    this.#counted = counted;
  }

  get(namespace: string, name: string): KubeObject | undefined {
    return this.#namespaces.get(namespace)?.objects.get(name);
  }

  /** In name order. */
  list(namespace: string): readonly KubeObject[] {
    const held = this.#namespaces.get(namespace);
    if (held === undefined) {
      return [];
    }
    held.sorted ??= Object.freeze([...held.objects.values()].sort(byName));
    return held.sorted;
  }

  /** Of all namespaces. */
  all(): readonly KubeObject[] {
    return [...this.#namespaces.values()].flatMap(({ objects }) => [...objects.values()]);
  }

  ownedBy(uid: string): readonly KubeObject[] {
    return [...(this.#owned.get(uid)?.values() ?? [])];
  }

  /** The API server has reported every change in this namespace (empty: in all) up to this version. */
  observedUpTo(namespace: string, resourceVersion: string): void {
    this.#observedVersions.set(namespace, BigInt(resourceVersion));
  }

  /** Takes the answer to a write of ours. An object whose deletion was reported by then does not come back by it. */
  putWriteResult(object: KubeObject): void {
    const { namespace = '', name } = object.metadata;
    const observedVersion = this.#observedVersions.get(namespace) ?? this.#observedVersions.get('') ?? 0n;
    if (this.get(namespace, name) !== undefined || versionOf(object) > observedVersion) {
      this.put(object);
    } else {
      this.#settle(object);
    }
  }

  put(object: KubeObject): void {
    const { namespace = '', name } = object.metadata;
    const before = this.get(namespace, name);
    const isChange = before === undefined || isNewer(object, before);
    if (isChange || isWholeOf(object, before)) this.#hold(object, before);
    this.#settle(object);
    if (isChange) this.#onChange(before === undefined ? { after: object } : { before, after: object });
  }

  /** Accounts for what the store holds now, whatever it was given. */
  #settle({ metadata: { namespace = '', name } }: KubeObject): void {
    if (this.#counted === undefined) return;
    const { kind, budget } = this.#counted;
    budget.account({ kind, namespace, name }, this.get(namespace, name));
  }

  #hold(object: KubeObject, before: KubeObject | undefined): void {
    const { namespace = '', name } = object.metadata;
    const held = this.#namespaces.get(namespace) ?? { objects: new Map(), sorted: undefined };
    this.#namespaces.set(namespace, held);
    held.objects.set(name, object);
    held.sorted = undefined;
    this.#disown(before);
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const siblings = this.#owned.get(uid) ?? new Map<string, KubeObject>();
      this.#owned.set(uid, siblings.set(object.metadata.uid ?? name, object));
    }
  }

  /** `last` is the object as the deletion left it; a newer one of the same name stays. */
  remove(last: KubeObject): void {
    const { namespace = '', name } = last.metadata;
    const held = this.#namespaces.get(namespace);
    const before = held?.objects.get(name);
    if (held === undefined || before === undefined || isNewer(before, last)) {
      return;
    }
    held.objects.delete(name);
    held.sorted = undefined;
    if (held.objects.size === 0) {
      this.#namespaces.delete(namespace);
    }
    this.#disown(before);
    this.#settle(before);
    this.#onChange({ before });
  }

  /**
   * Takes a whole list made at `resourceVersion`; what is held and newer than it stays. An empty namespace means all. A
   * list from before what the server told already comes from a backup: then nothing counts but the list.
   */
  replace(items: readonly KubeObject[], namespace: string, resourceVersion: string): void {
    const version = BigInt(resourceVersion);
    const isRestored = version < (this.#observedVersions.get(namespace) ?? 0n);
    const listed = new Set(items.map(placeOf));
    const all = namespace === '' ? [...this.#namespaces.keys()] : [namespace];
    const held = all.flatMap((name) => this.list(name));
    for (const object of held) {
      const isGone = !listed.has(placeOf(object)) && versionOf(object) <= version;
      if (isGone || isRestored) {
        this.remove(object);
      }
    }
    for (const item of items) {
      this.put(item);
    }
    // Of lists that were given up, and of what was deleted while one came, there may be more.
    this.#counted?.budget.accountAll(this.#counted.kind, namespace, (key) => this.get(key.namespace, key.name));
    this.observedUpTo(namespace, resourceVersion);
  }

  #disown(object: KubeObject | undefined): void {
    for (const { uid } of object?.metadata.ownerReferences ?? []) {
      const siblings = this.#owned.get(uid);
      siblings?.delete(object?.metadata.uid ?? object?.metadata.name ?? '');
      if (siblings?.size === 0) {
        this.#owned.delete(uid);
      }
    }
  }
}

/** Where the objects of a kind are counted. */
interface Counted {
  readonly kind: string;
  readonly budget: Pick<MemoryBudget, 'account' | 'accountAll'>;
}

interface Namespace {
  readonly objects: Map<string, KubeObject>;
  /** Kept until something changes. */
  sorted: readonly KubeObject[] | undefined;
}

const byName = (a: KubeObject, b: KubeObject): number => compareText(a.metadata.name, b.metadata.name);

const placeOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** Resource versions of one kind are decimal numbers that grow (KEP-5504). */
const versionOf = (object: KubeObject): bigint => BigInt(object.metadata.resourceVersion ?? '0');

/** More is known of the same version: nothing has changed. */
const isWholeOf = (object: KubeObject, held: KubeObject): boolean =>
  isOutline(held) && !isOutline(object) && versionOf(object) === versionOf(held);

const isNewer = (candidate: KubeObject, than: KubeObject): boolean => versionOf(candidate) > versionOf(than);
