import type { KubeObject } from '../object.ts';
import { type ResolvedReference, lookUpIn } from '../plan/references.ts';
import { isMoreThan, isTooLarge, sizeOf, TOO_LARGE_TEXT } from '../threads/size.ts';
import { pauses } from '../threads/pause.ts';
import { TooCostlyError, type WorkThread } from '../threads/work-thread.ts';
import { policyCharacters, type Violation, violationsOf } from '../validate/index.ts';

/**
 * What is wrong with an object, seen with what it refers to; rejects with `TooCostlyError` where nobody can afford to
 * find out.
 */
export type Judge = (
  object: KubeObject,
  references: readonly ResolvedReference[],
  signal?: AbortSignal,
) => Promise<Judged>;

export interface Judged {
  readonly violations: readonly Violation[];
  /** Objects that a rule asked for, as `kind/name`. */
  readonly askedFor: readonly string[];
}

export interface JudgeInput {
  readonly object: KubeObject;
  readonly references: readonly ResolvedReference[];
}

/** Values and characters that are judged in a time that nobody notices. */
const LARGE = 20_000;
const LARGE_POLICIES = 4_000;

export const judgedNow = (object: KubeObject, references: readonly ResolvedReference[]): Judged => {
  const askedFor = new Set<string>();
  const lookUp = lookUpIn(references);
  const violations = violationsOf(object, (kind, name) => {
    askedFor.add(`${kind}/${name}`);
    return lookUp(kind, name);
  });
  return { violations, askedFor: [...askedFor] };
};

/** In this thread. */
export const judgeHere: Judge = (object, references) => Promise.resolve(judgedNow(object, references));

/** What is large in another thread, anything else in this one, where it takes no time. */
export const judgeIn = (thread: Pick<WorkThread, 'run'>): Judge => {
  const pause = pauses();
  return async (object, references, signal) => {
    const input: JudgeInput = { object, references };
    const size = await sizeOf(input, pause);
    signal?.throwIfAborted();
    if (!isMoreThan(size, LARGE) && policyCharacters(object) <= LARGE_POLICIES) return judgedNow(object, references);
    if (isTooLarge(size)) throw new TooCostlyError(TOO_LARGE_TEXT);
    return (await thread.run('judge', input, object.metadata.namespace ?? '', signal)) as Judged;
  };
};
