import { NamespaceQuota } from './namespace-quota.ts';
import { type KubeObject, type ObjectKey, keyFromText, keyOf, keyText } from '../object.ts';
import { unreadable, withoutSpec } from '../validate/unreadable.ts';
import { type Violation, violation } from '../validate/validator.ts';
import { outlineOf } from './held-metadata.ts';
import { memoryBytesOf } from './memory-bytes.ts';
import { isOfOurGroup } from './trim.ts';

const MIB = 1024 * 1024;

/**
 * Maximum of estimated bytes (`memoryBytesOf`) that the cached objects of one namespace take: tenants share the memory.
 */
const MAX_NAMESPACE_BYTES = 96 * MIB;

/**
 * Decides which objects the cache holds whole. Beyond the maximum of a namespace, objects of our kinds are held without
 * their specs, and others as outlines. An object that is held whole stays so as long as it does not grow.
 */
export class MemoryBudget {
  /** By the text of the object's key. */
  readonly #quota: NamespaceQuota;

  /** `maxBytes`: of the objects of one namespace, as `memoryBytesOf` estimates them. */
  constructor(maxBytes = MAX_NAMESPACE_BYTES) {
    this.#quota = new NamespaceQuota(maxBytes);
  }

  /**
   * The object (`cacheable`) as the cache is to hold it. Its bytes are counted at once, since lists are admitted before
   * a store has them; the store calls `account` afterwards.
   */
  admit(object: KubeObject): KubeObject {
    const key = keyOf(object);
    const before = this.#quota.bytesOf(key.namespace, keyText(key));
    const available = this.#quota.available(key.namespace, keyText(key));
    const admitted = cachedBytes(object) <= Math.max(before, available) ? object : smallest(object);
    // The store may go on holding what it has.
    if (cachedBytes(admitted) > before) this.account(key, admitted);
    return admitted;
  }

  /** Counts this object under the key from now on; undefined: nothing is held there. */
  account(key: ObjectKey, object: KubeObject | undefined): void {
    if (object === undefined) this.#quota.release(key.namespace, keyText(key));
    else this.#quota.set(key.namespace, keyText(key), cachedBytes(object));
  }

  /** `account` for every object of a kind that is counted; an empty namespace means all. */
  accountAll(kind: string, namespace: string, get: (key: ObjectKey) => KubeObject | undefined): void {
    const texts = this.#quota.keys(namespace === '' ? undefined : namespace);
    for (const key of texts.filter((text) => text.startsWith(`${kind}/`)).map(keyFromText)) this.account(key, get(key));
  }

  /** Bytes that are counted for the objects of the namespace. */
  bytesIn(namespace: string): number {
    return this.#quota.used(namespace);
  }
}

const smallest = (object: KubeObject): KubeObject =>
  isOfOurGroup(object) ? withoutSpec(object, unreadable(object) ?? tooMuch) : outlineOf(object);

const tooMuch: Violation = {
  ...violation(
    'spec',
    `is not read: all that is watched in this namespace takes more than ${MAX_NAMESPACE_BYTES / MIB} MiB of memory together`,
    'remove some objects or make them smaller, then change this one',
  ),
  conditionReason: 'TooLarge',
};

/** Objects are never changed. */
const weights = new WeakMap<KubeObject, number>();

const cachedBytes = (object: KubeObject): number => {
  const known = weights.get(object) ?? memoryBytesOf(object);
  weights.set(object, known);
  return known;
};
