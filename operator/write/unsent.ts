import { type ChildProblem, UNANSWERED } from './child-problem.ts';
import { type KubeObject, type ObjectKey, keyOf, keyText } from '../object.ts';
import { backoffMs } from '../../runtime/process/index.ts';
import { hashOf } from '../plan/canonical.ts';

/** A child as it meets with the cluster. */
export interface Meeting {
  readonly owner: KubeObject;
  readonly child: KubeObject;
  /** As the cluster has it, if it does. */
  readonly existing: KubeObject | undefined;
}

/**
 * When one that was not answered is sent again although nothing has changed: the cause may be elsewhere. Doubles with
 * each attempt.
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
 * Children that it is of no use to send: the API server or etcd found them too large, or the API server never answered,
 * and may be at work on them still. They are not sent again until the owner's spec, what is rendered of it or the child
 * in the cluster has changed: a megabyte a minute for each would be for nothing. What was not answered is sent again
 * after ten minutes, then after twice that, up to an hour.
 */
export class UnsentChildren {
  /** Uid of the owner → key of the child. */
  readonly #known = new Map<string, Map<string, Known>>();
  readonly #now: () => number;

  /** `now`: a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  note(meeting: Meeting, problem: ChildProblem): void {
    const { uid = '' } = meeting.owner.metadata;
    const ofOwner = this.#known.get(uid) ?? new Map<string, Known>();
    const name = keyText(problem.child);
    const print = fingerprint(meeting);
    const before = ofOwner.get(name);
    const attempts = before?.fingerprint === print ? before.attempts + 1 : 1;
    this.#known.set(uid, ofOwner.set(name, { fingerprint: print, problem, attempts, atMs: this.#now() }));
  }

  /** What was told of it, unless it may be taken by now. */
  find(meeting: Meeting): ChildProblem | undefined {
    const known = this.#known.get(meeting.owner.metadata.uid ?? '')?.get(keyText(keyOf(meeting.child)));
    if (known === undefined) return undefined;
    if (known.fingerprint !== fingerprint(meeting)) {
      this.taken(meeting.owner, meeting.child);
      return undefined;
    }
    return this.#restMs(known) > 0 ? known.problem : undefined;
  }

  /** The cluster has the child as planned, or what was told of it is about another form of it. */
  taken({ metadata: { uid = '' } }: KubeObject, child: KubeObject): void {
    const ofOwner = this.#known.get(uid);
    ofOwner?.delete(keyText(keyOf(child)));
    if (ofOwner?.size === 0) this.#known.delete(uid);
  }

  /**
   * After how long the first of these children of the owner, which were not sent or not answered just now, may be sent
   * again although nothing has changed; undefined where only a change helps. Others do not count: what they wait for is
   * no time.
   */
  againAfterMs(uid: string, children: readonly ObjectKey[]): number | undefined {
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

  /** Of this owner only these are planned: nothing else is remembered. */
  keep({ metadata: { uid = '' } }: KubeObject, planned: readonly KubeObject[]): void {
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

const fingerprint = ({ owner, child, existing }: Meeting): string =>
  hashOf([owner.metadata.generation, child, existing?.metadata.uid, specVersionOf(existing)]);

/** A status that changes makes nothing smaller. */
const specVersionOf = (existing: KubeObject | undefined): unknown =>
  existing?.metadata.generation ?? existing?.metadata.resourceVersion;
