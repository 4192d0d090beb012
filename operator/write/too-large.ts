import type { ChildProblem } from './apply.ts';
import { type KubeObject, keyOf, keyText } from '../object.ts';
import { hashOf } from '../plan/canonical.ts';

/** Reason of a child that the API server or etcd does not take for its size. */
export const TOO_LARGE = 'TooLarge';

/** A child as it meets with the cluster. */
export interface Meeting {
  readonly owner: KubeObject;
  readonly child: KubeObject;
  /** As the cluster has it, if it does. */
  readonly existing: KubeObject | undefined;
}

interface Known {
  readonly fingerprint: string;
  readonly problem: ChildProblem;
}

/**
 * Children that the API server or etcd found too large. They are not sent again until the owner's spec, what is rendered of it or the child
 * in the cluster has changed: a megabyte a minute for each would be for nothing.
 */
export class TooLargeChildren {
  /** Uid of the owner → key of the child. */
  readonly #known = new Map<string, Map<string, Known>>();

  note(meeting: Meeting, problem: ChildProblem): void {
    const { uid = '' } = meeting.owner.metadata;
    const ofOwner = this.#known.get(uid) ?? new Map<string, Known>();
    this.#known.set(uid, ofOwner.set(keyText(problem.child), { fingerprint: fingerprint(meeting), problem }));
  }

  /** What was told of it, unless it may be taken by now. */
  find(meeting: Meeting): ChildProblem | undefined {
    const known = this.#known.get(meeting.owner.metadata.uid ?? '')?.get(keyText(keyOf(meeting.child)));
    return known?.fingerprint === fingerprint(meeting) ? known.problem : undefined;
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
  hashOf([owner.metadata.generation, child, existing?.metadata.uid, existing?.metadata.resourceVersion]);
