import type { KubeObject } from '../object.ts';
import { type ResolvedReference, lookUpIn } from '../plan/references.ts';
import { isForThread, isTooLarge, sizeOf, TOO_LARGE_TEXT } from '../threads/size.ts';
import { yieldsToEventLoop } from '../threads/pause.ts';
import { TooCostlyError, type WorkThread } from '../threads/work-thread.ts';
import { questionablePolicies, questionableWorkflows, type Violation, violationsOf } from '../validate/index.ts';

/**
 * Validates an object with what it refers to; rejects with `TooCostlyError` where that would take too much time or
 * memory.
 */
export type ValidateObject = (
  object: KubeObject,
  references: readonly ResolvedReference[],
  signal?: AbortSignal,
) => Promise<ValidationResult>;

export interface ValidationResult {
  readonly violations: readonly Violation[];
  /** Objects that a rule asked for, as `kind/name`. */
  readonly askedFor: readonly string[];
  /** What policies and workflows say and probably do not mean; nothing where there are violations. */
  readonly questionable: readonly Violation[];
}

/** An object to validate, in a form that can be sent to a thread. */
export interface ValidateInput {
  readonly object: KubeObject;
  readonly references: readonly ResolvedReference[];
  /** Cedar is loaded before the time counts. */
  readonly hasPolicies: boolean;
}

/** Values and characters that are validated without blocking the thread noticeably. */
const LARGE = 20_000;

/** Validates in this thread; takes time in proportion to the size of object and references. */
export const validatedNow = (object: KubeObject, references: readonly ResolvedReference[]): ValidationResult => {
  const askedFor = new Set<string>();
  const lookUp = lookUpIn(references);
  const violations = violationsOf(object, (kind, name) => {
    askedFor.add(`${kind}/${name}`);
    return lookUp(kind, name);
  });
  return {
    violations,
    askedFor: [...askedFor],
    questionable: violations.length === 0 ? [...questionablePolicies(object), ...questionableWorkflows(object)] : [],
  };
};

/** In this thread. */
export const validateHere: ValidateObject = (object, references) => Promise.resolve(validatedNow(object, references));

/** What is large or has policies in another thread, anything else in this one, where it takes no time. */
export const validateIn = (thread: Pick<WorkThread, 'run'>): ValidateObject => {
  const pause = yieldsToEventLoop();
  return async (object, references, signal) => {
    const size = await sizeOf({ object, references }, pause);
    signal?.throwIfAborted();
    if (!isForThread(size, LARGE)) return validatedNow(object, references);
    if (isTooLarge(size)) throw new TooCostlyError(TOO_LARGE_TEXT);
    const input: ValidateInput = { object, references, hasPolicies: size.hasPolicies };
    return (await thread.run('validate', input, object.metadata.namespace ?? '', signal)) as ValidationResult;
  };
};
