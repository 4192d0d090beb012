import type { KubeObject } from '../object.ts';
import { firstViolationOf } from '../plan/references.ts';
import type { ValidateObject } from '../offload/validate.ts';
import { TooCostlyError } from '../threads/work-thread.ts';
import { leftOutReason } from '../validate/unreadable.ts';
import { type Violation, violation } from '../validate/validator.ts';
import type { Change } from '../cache/store.ts';
import { isOfOurGroup } from '../cache/trim.ts';

export interface ValidationCacheDeps {
  readonly validate: ValidateObject;
  /** Kinds that other objects refer to. */
  readonly kinds: ReadonlySet<string>;
  /** Yields to other work. */
  readonly pause: () => Promise<void>;
  /** Called when an object is validated that was asked about before. */
  readonly onLate: (object: KubeObject) => void;
  readonly onFailure: (error: unknown) => void;
}

interface Known {
  readonly generation: number | undefined;
  readonly broken: Violation | undefined;
}

/** An object that waits for its validation. */
interface Pending {
  /** As it was seen last. */
  newest: KubeObject;
  isAskedFor: boolean;
}

/**
 * The first rule that each referable object breaks, validated in the background before it is asked for: one server may
 * refer to hundreds of objects, and to validate them all at once would block every other reconcile.
 */
export class ValidationCache {
  readonly #deps: ValidationCacheDeps;
  /** By uid. */
  readonly #known = new Map<string, Known>();
  /** By uid. */
  readonly #pending = new Map<string, Pending>();
  /** By namespace: what is under way, one object after the other. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(deps: ValidationCacheDeps) {
    this.#deps = deps;
  }

  observe({ before, after }: Change): void {
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#forget(before.metadata.uid ?? '');
    if (after === undefined || !this.#deps.kinds.has(after.kind) || !isOfOurGroup(after)) return;
    const { uid = '', namespace = '' } = after.metadata;
    const pending = this.#pending.get(uid);
    if (pending !== undefined) pending.newest = after;
    // An object that is cached without its spec is not used, and is validated once it is cached whole.
    else if (leftOutReason(after) === undefined && this.#find(after) === undefined) this.#add(uid, namespace, after);
  }

  #add(uid: string, namespace: string, newest: KubeObject): void {
    const pending: Pending = { newest, isAskedFor: false };
    this.#pending.set(uid, pending);
    const validated = (this.#underWay.get(namespace) ?? Promise.resolve())
      .then(() => this.#validate(uid, pending))
      .catch(this.#deps.onFailure)
      .then(() => void (this.#underWay.get(namespace) === validated && this.#underWay.delete(namespace)));
    this.#underWay.set(namespace, validated);
  }

  #forget(uid: string): void {
    this.#known.delete(uid);
    this.#pending.delete(uid);
  }

  /** Resolves when every object of this namespace that is known now is validated. */
  async settled(namespace: string): Promise<void> {
    await this.#underWay.get(namespace);
  }

  /**
   * Why the object may not be used: the first rule that it breaks, that its spec is not in the cache, or that it is not
   * validated yet. An object that was never observed is validated at once.
   */
  readonly firstViolationOf = (object: KubeObject): Violation | undefined => {
    const leftOut = leftOutReason(object);
    if (leftOut !== undefined) return leftOut;
    const known = this.#find(object);
    if (known !== undefined) return known.broken;
    const pending = this.#pending.get(object.metadata.uid ?? '');
    if (pending === undefined) return firstViolationOf(object);
    pending.isAskedFor = true;
    return NOT_VALIDATED;
  };

  #find({ metadata: { uid = '', generation } }: KubeObject): Known | undefined {
    const known = this.#known.get(uid);
    return known !== undefined && known.generation === generation ? known : undefined;
  }

  async #validate(uid: string, pending: Pending): Promise<void> {
    try {
      await this.#deps.pause();
      // An object that changes meanwhile is validated again.
      while (this.#pending.get(uid) === pending && this.#isOpen(pending.newest)) {
        const { newest } = pending;
        const broken = await this.#deps.validate(newest, []).then(({ violations: [first] }) => first, tooCostly);
        if (this.#pending.get(uid) === pending)
          this.#known.set(uid, { generation: newest.metadata.generation, broken });
      }
    } finally {
      if (this.#pending.get(uid) === pending) {
        this.#pending.delete(uid);
        if (pending.isAskedFor) this.#deps.onLate(pending.newest);
      }
    }
  }

  #isOpen(object: KubeObject): boolean {
    return leftOutReason(object) === undefined && this.#find(object) === undefined;
  }
}

const NOT_VALIDATED = violation('spec', 'is not checked yet', 'wait a moment');

const tooCostly = (error: unknown): Violation => {
  if (!(error instanceof TooCostlyError)) throw error;
  return { ...violation('spec', `to judge it ${error.message}`, 'make it smaller'), conditionReason: 'TooLarge' };
};
