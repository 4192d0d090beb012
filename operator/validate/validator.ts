import type { ResourceProblem } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';

/** A broken rule: admission refuses the object, and its condition `Valid` is False where admission is off. */
export interface Violation extends ResourceProblem {
  /** Reason of the condition. */
  readonly conditionReason: 'Invalid' | 'InvalidUrl' | 'TooLarge' | 'UnknownField';
}

/** Finds an object of the same namespace; undefined when there is none. */
export type LookUp = (kind: string, name: string) => KubeObject | undefined;

/**
 * One rule, or a family of rules, beyond what OpenAPI and CEL say. Pure. The object is as the API server stores it,
 * with defaults. An object that is not there is no violation: it may come later, and a condition reports it meanwhile.
 */
export interface Validator {
  /** Kinds that it looks at; absent: every kind of ours. */
  readonly kinds?: readonly string[];
  readonly validate: (object: KubeObject, lookUp: LookUp) => readonly Violation[];
}

/**
 * Violations that are reported at most: the author of an object decides how many there are, and each correction shows
 * another.
 */
export const MAX_VIOLATIONS = 100;

/** A violation with the reason `Invalid`. */
export const violation = (path: string, reason: string, remedy: string): Violation => ({
  path,
  reason,
  remedy,
  conditionReason: 'Invalid',
});

/** One line: `spec.remoteUrl: what is wrong; what to do`. */
export const violationText = ({ path, reason, remedy }: ResourceProblem): string => `${path}: ${reason}; ${remedy}`;
