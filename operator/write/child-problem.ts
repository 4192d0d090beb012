import type { ObjectKey } from '../object.ts';

/**
 * Why a child is not as planned although trying again at once would not help; a value, because it belongs into the
 * status.
 */
export interface ChildProblem {
  readonly type: 'ChildConflict' | 'ChildRefused';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  readonly child: ObjectKey;
  /** Only a change by a user removes the cause; else it may pass by itself. */
  readonly isStuck: boolean;
}

/** Reason of a child that the API server or etcd does not take for its size. */
export const TOO_LARGE = 'TooLarge';

/** Reason of a child about which the API server says nothing. */
export const UNANSWERED = 'Unanswered';
