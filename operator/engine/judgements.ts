import type { KubeObject } from '../object.ts';
import { brokenRuleOf } from '../plan/references.ts';
import type { Judge } from '../offload/judge.ts';
import { TooCostlyError } from '../threads/work-thread.ts';
import { leftOutBecause } from '../validate/unreadable.ts';
import { type Violation, violation } from '../validate/validator.ts';
import type { Change } from '../cache/store.ts';
import { isOfOurGroup } from '../cache/trim.ts';

export interface JudgementDeps {
  readonly judge: Judge;
  /** Kinds that others name. */
  readonly kinds: ReadonlySet<string>;
  /** Lets everything else that waits have its turn. */
  readonly pause: () => Promise<void>;
  /** Somebody has asked about the object before it was judged, and now it is. */
  readonly onLate: (object: KubeObject) => void;
  readonly onFailure: (error: unknown) => void;
}

interface Known {
  readonly generation: number | undefined;
  readonly broken: Violation | undefined;
}

/** An object that waits for its judgement. */
interface Pending {
  /** As it was seen last. */
  newest: KubeObject;
  isAskedFor: boolean;
}

/**
 * Which rule each object breaks that others may name, found out piece by piece before anybody asks: one server may name
 * hundreds of them, and to judge all of them at once would keep everybody waiting.
 */
export class Judgements {
  readonly #deps: JudgementDeps;
  /** By uid. */
  readonly #known = new Map<string, Known>();
  /** By uid. */
  readonly #pending = new Map<string, Pending>();
  /** By namespace: what is under way, one object after the other. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(deps: JudgementDeps) {
    this.#deps = deps;
  }

  saw({ before, after }: Change): void {
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#forget(before.metadata.uid ?? '');
    if (after === undefined || !this.#deps.kinds.has(after.kind) || !isOfOurGroup(after)) return;
    const { uid = '', namespace = '' } = after.metadata;
    const pending = this.#pending.get(uid);
    if (pending !== undefined) pending.newest = after;
    // What is held without its spec is not used, and judged when it is held whole.
    else if (leftOutBecause(after) === undefined && this.#find(after) === undefined) this.#add(uid, namespace, after);
  }

  #add(uid: string, namespace: string, newest: KubeObject): void {
    const pending: Pending = { newest, isAskedFor: false };
    this.#pending.set(uid, pending);
    const judged = (this.#underWay.get(namespace) ?? Promise.resolve())
      .then(() => this.#judge(uid, pending))
      .catch(this.#deps.onFailure)
      .then(() => void (this.#underWay.get(namespace) === judged && this.#underWay.delete(namespace)));
    this.#underWay.set(namespace, judged);
  }

  #forget(uid: string): void {
    this.#known.delete(uid);
    this.#pending.delete(uid);
  }

  /** Until everything that is known of this namespace now is judged. */
  async settled(namespace: string): Promise<void> {
    await this.#underWay.get(namespace);
  }

  /**
   * Why the object may not be used: the first rule that it breaks, or that its spec is not held, or that it is not
   * judged yet. One that nobody has seen is judged now.
   */
  readonly brokenRuleOf = (object: KubeObject): Violation | undefined => {
    const leftOut = leftOutBecause(object);
    if (leftOut !== undefined) return leftOut;
    const known = this.#find(object);
    if (known !== undefined) return known.broken;
    const pending = this.#pending.get(object.metadata.uid ?? '');
    if (pending === undefined) return brokenRuleOf(object);
    pending.isAskedFor = true;
    return NOT_JUDGED;
  };

  #find({ metadata: { uid = '', generation } }: KubeObject): Known | undefined {
    const known = this.#known.get(uid);
    return known !== undefined && known.generation === generation ? known : undefined;
  }

  async #judge(uid: string, pending: Pending): Promise<void> {
    try {
      await this.#deps.pause();
      // What has changed meanwhile counts as it is in the end.
      while (this.#pending.get(uid) === pending && this.#isOpen(pending.newest)) {
        const { newest } = pending;
        const broken = await this.#deps.judge(newest, []).then(({ violations: [first] }) => first, tooCostly);
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
    return leftOutBecause(object) === undefined && this.#find(object) === undefined;
  }
}

const NOT_JUDGED = violation('spec', 'is not checked yet', 'wait a moment');

const tooCostly = (error: unknown): Violation => {
  if (!(error instanceof TooCostlyError)) throw error;
  return { ...violation('spec', `to judge it ${error.message}`, 'make it smaller'), word: 'TooLarge' };
};
