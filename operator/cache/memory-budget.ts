import { type KubeObject, type ObjectKey, keyFromText, keyOf, keyText } from '../object.ts';
import { unreadable, withoutSpec } from '../validate/unreadable.ts';
import { type Violation, violation } from '../validate/validator.ts';
import { outlineOf } from './outline.ts';
import { isOfOurGroup } from './trim.ts';
import { weightOf } from './weight.ts';

const MIB = 1024 * 1024;

/** Bytes that the objects of one namespace take together in memory, about (`weightOf`): memory is everybody's. */
const MOST_TOGETHER = 96 * MIB;

interface Held {
  readonly weights: Map<string, number>;
  sum: number;
}

const NOTHING: Held = { weights: new Map(), sum: 0 };

/**
 * Which objects are held whole. Beyond what a namespace may take those of our kinds are held without their specs, and
 * others as outlines. What is held whole stays so as long as it does not grow.
 */
export class MemoryBudget {
  readonly #most: number;
  /** By namespace, then by the text of the key. */
  readonly #namespaces = new Map<string, Held>();

  constructor(most = MOST_TOGETHER) {
    this.#most = most;
  }

  /**
   * The object (`heldAlone`) as it is to be held. Its room is taken at once, for lists are held before any store has
   * them; `settle` follows.
   */
  held(object: KubeObject): KubeObject {
    const { sum, weights } = this.#in(object);
    const before = weights.get(keyText(keyOf(object))) ?? 0;
    const hasRoom = weigh(object) <= Math.max(before, this.#most - sum + before);
    const held = hasRoom ? object : smallest(object);
    // The store may go on holding what it has.
    if (weigh(held) > before) this.settle(keyOf(object), held);
    return held;
  }

  /** From now on this is held under the key; undefined: nothing. */
  settle(key: ObjectKey, object: KubeObject | undefined): void {
    const held = this.#namespaces.get(key.namespace) ?? { weights: new Map<string, number>(), sum: 0 };
    const text = keyText(key);
    held.sum -= held.weights.get(text) ?? 0;
    held.weights.delete(text);
    if (object !== undefined) {
      held.weights.set(text, weigh(object));
      held.sum += weigh(object);
    }
    if (held.weights.size === 0) this.#namespaces.delete(key.namespace);
    else this.#namespaces.set(key.namespace, held);
  }

  /** The same for every object of a kind; an empty namespace means all. */
  settleAll(kind: string, namespace: string, get: (key: ObjectKey) => KubeObject | undefined): void {
    const namespaces = namespace === '' ? [...this.#namespaces.values()] : [this.#namespaces.get(namespace) ?? NOTHING];
    const texts = namespaces
      .flatMap(({ weights }) => [...weights.keys()])
      .filter((text) => text.startsWith(`${kind}/`));
    for (const key of texts.map(keyFromText)) this.settle(key, get(key));
  }

  /** What the objects of the namespace take, in bytes. */
  weightIn(namespace: string): number {
    return (this.#namespaces.get(namespace) ?? NOTHING).sum;
  }

  #in(object: KubeObject): Held {
    return this.#namespaces.get(keyOf(object).namespace) ?? NOTHING;
  }
}

const smallest = (object: KubeObject): KubeObject =>
  isOfOurGroup(object) ? withoutSpec(object, unreadable(object) ?? tooMuch) : outlineOf(object);

const tooMuch: Violation = {
  ...violation(
    'spec',
    `is not read: all that is watched in this namespace takes more than ${MOST_TOGETHER / MIB} MiB of memory together`,
    'remove some objects or make them smaller, then change this one',
  ),
  word: 'TooLarge',
};

/** Objects are never changed. */
const weights = new WeakMap<KubeObject, number>();

const weigh = (object: KubeObject): number => {
  const known = weights.get(object) ?? weightOf(object);
  weights.set(object, known);
  return known;
};
