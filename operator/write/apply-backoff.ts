import { type ChildProblem, UNANSWERED } from './child-problem.ts';
import { type KubeObject, type ObjectKey, keyOf, keyText } from '../object.ts';
import { backoffMs } from '../../runtime/process/index.ts';
import { hashOf } from '../plan/canonical.ts';

/** A child that is to be applied. */
export interface ApplyTarget {
  readonly owner: KubeObject;
  readonly child: KubeObject;
  /** As the cluster has it, if it does. */
  readonly existing: KubeObject | undefined;
}

/**
 * Delays before an unanswered child is sent again although nothing has changed: the cause may be elsewhere. They double
 * with each attempt.
 */
const AGAIN = { baseMs: 600_000, maxMs: 3_600_000, jitter: 0 };

interface Known {
  readonly fingerprint: string;
  readonly problem: ChildProblem;
  /** So often it was sent like this … */
  readonly attempts: number;
  /** … and for the last time then, in clock time. */
  readonly atMs: number;
}

/**
 * Holds back children that would fail again: the API server or etcd found them too large, or the API server never
 * answered and may still be at work on them. A child is sent again when the owner's spec, its rendering or the child in
 * the cluster has changed; an unanswered one also after ten minutes, then after twice that, up to an hour.
 */
export class ApplyBackoff {
  /** Uid of the owner → key of the child. */
  readonly #known = new Map<string, Map<string, Known>>();
  readonly #now: () => number;

  /** `now`: a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  record(target: ApplyTarget, problem: ChildProblem): void {
    const { uid = '' } = target.owner.metadata;
    const ofOwner = this.#known.get(uid) ?? new Map<string, Known>();
    const name = keyText(problem.child);
    const print = fingerprint(target);
    const before = ofOwner.get(name);
    const attempts = before?.fingerprint === print ? before.attempts + 1 : 1;
    this.#known.set(uid, ofOwner.set(name, { fingerprint: print, problem, attempts, atMs: this.#now() }));
  }

  /** The recorded problem, while the child is held back. */
  find(target: ApplyTarget): ChildProblem | undefined {
    const known = this.#known.get(target.owner.metadata.uid ?? '')?.get(keyText(keyOf(target.child)));
    if (known === undefined) return undefined;
    if (known.fingerprint !== fingerprint(target)) {
      this.reset(target.owner, target.child);
      return undefined;
    }
    return this.#restMs(known) > 0 ? known.problem : undefined;
  }

  /** Forgets the child: the cluster has it as planned, or the problem was about another form of it. */
  reset({ metadata: { uid = '' } }: KubeObject, child: KubeObject): void {
    const ofOwner = this.#known.get(uid);
    ofOwner?.delete(keyText(keyOf(child)));
    if (ofOwner?.size === 0) this.#known.delete(uid);
  }

  /**
   * Milliseconds until the first of these unanswered children may be sent again although nothing has changed; undefined
   * where only a change helps.
   */
  requeueAfterMs(uid: string, children: readonly ObjectKey[]): number | undefined {
    const ofOwner = this.#known.get(uid);
    const rests = children
      .map((child) => ofOwner?.get(keyText(child)))
      .map((known) => (known === undefined ? Infinity : this.#restMs(known)));
    const first = Math.min(...rests);
    return first === Infinity ? undefined : Math.max(0, first);
  }

  #restMs({ problem, attempts, atMs }: Known): number {
    return problem.reason === UNANSWERED ? atMs + backoffMs(attempts, AGAIN, () => 0) - this.#now() : Infinity;
  }

  /** Forgets children of this owner that are not planned any more. */
  retain({ metadata: { uid = '' } }: KubeObject, planned: readonly KubeObject[]): void {
    const ofOwner = this.#known.get(uid);
    if (ofOwner === undefined) return;
    const names = new Set(planned.map((child) => keyText(keyOf(child))));
    for (const name of ofOwner.keys()) if (!names.has(name)) ofOwner.delete(name);
    if (ofOwner.size === 0) this.#known.delete(uid);
  }

  /** The owner is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

const fingerprint = ({ owner, child, existing }: ApplyTarget): string =>
  hashOf([owner.metadata.generation, child, existing?.metadata.uid, specVersionOf(existing)]);

/** A status that changes makes nothing smaller. */
const specVersionOf = (existing: KubeObject | undefined): unknown =>
  existing?.metadata.generation ?? existing?.metadata.resourceVersion;
