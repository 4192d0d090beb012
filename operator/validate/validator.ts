import type { ResourceProblem } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';

/**
 * Something that nobody may ask for: what refuses an object at admission, and makes its condition `Valid` False where
 * admission is off.
 */
export interface Violation extends ResourceProblem {
  /** Reason of the condition. */
  readonly word: 'Invalid' | 'InvalidUrl' | 'TooLarge' | 'UnknownField';
}

/** An object of the same namespace; undefined when nobody made it. */
export type LookUp = (kind: string, name: string) => KubeObject | undefined;

/**
 * One rule, or a family of rules, beyond what OpenAPI and CEL say. Pure. The object is as the API server stores it,
 * with defaults. An object that is not there is no violation: it may come later, and a condition tells of it meanwhile.
 */
export interface Validator {
  /** Kinds that it looks at; absent: every kind of ours. */
  readonly kinds?: readonly string[];
  readonly validate: (object: KubeObject, lookUp: LookUp) => readonly Violation[];
}

/**
 * Whoever may write an object decides how much is wrong with it: so many are told, and each that is mended makes room
 * for another.
 */
export const MOST_TOLD = 100;

export const violation = (path: string, reason: string, remedy: string): Violation => ({
  path,
  reason,
  remedy,
  word: 'Invalid',
});

/** One line: `spec.remoteUrl: what is wrong; what to do`. */
export const violationText = ({ path, reason, remedy }: ResourceProblem): string => `${path}: ${reason}; ${remedy}`;
