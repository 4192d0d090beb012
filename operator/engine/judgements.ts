import type { KubeObject } from '../object.ts';
import { brokenRuleOf } from '../plan/references.ts';
import type { Judge } from '../threads/judge.ts';
import { TooCostlyError } from '../threads/work-thread.ts';
import { type Violation, violation } from '../validate/validator.ts';
import type { Change } from './store.ts';

export interface JudgementDeps {
  readonly judge: Judge;
  /** Kinds that others name. */
  readonly kinds: ReadonlySet<string>;
  /** Lets everything else that waits have its turn. */
  readonly pause: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

interface Known {
  readonly generation: number | undefined;
  readonly broken: Violation | undefined;
}

/**
 * Which rule each object breaks that others may name, found out piece by piece before anybody asks: one server may name hundreds of them, and to
 * judge all of them at once would keep everybody waiting.
 */
export class Judgements {
  readonly #deps: JudgementDeps;
  /** By uid. */
  readonly #known = new Map<string, Known>();
  /** By namespace: what is under way, one object after the other. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(deps: JudgementDeps) {
    this.#deps = deps;
  }

  saw({ before, after }: Change): void {
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid)
      this.#known.delete(before.metadata.uid ?? '');
    if (after === undefined || !this.#deps.kinds.has(after.kind) || this.#find(after) !== undefined) return;
    const { namespace = '' } = after.metadata;
    const judged = (this.#underWay.get(namespace) ?? Promise.resolve())
      .then(() => this.#judge(after))
      .catch(this.#deps.onFailure)
      .then(() => void (this.#underWay.get(namespace) === judged && this.#underWay.delete(namespace)));
    this.#underWay.set(namespace, judged);
  }

  /** Until everything that is known of this namespace is judged. */
  async settled(namespace: string): Promise<void> {
    await this.#underWay.get(namespace);
  }

  /** The first rule that it breaks; of an object that is not judged yet, found out now. */
  readonly brokenRuleOf = (object: KubeObject): Violation | undefined =>
    (this.#find(object) ?? { broken: brokenRuleOf(object) }).broken;

  #find({ metadata: { uid = '', generation } }: KubeObject): Known | undefined {
    const known = this.#known.get(uid);
    return known !== undefined && known.generation === generation ? known : undefined;
  }

  async #judge(object: KubeObject): Promise<void> {
    if (this.#find(object) !== undefined) return;
    await this.#deps.pause();
    const broken = await this.#deps.judge(object, []).then(({ violations: [first] }) => first, tooCostly);
    const { uid = '', generation } = object.metadata;
    this.#known.set(uid, { generation, broken });
  }
}

const tooCostly = (error: unknown): Violation => {
  if (!(error instanceof TooCostlyError)) throw error;
  return { ...violation('spec', `to judge it ${error.message}`, 'make it smaller'), word: 'TooLarge' };
};
