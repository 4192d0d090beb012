import { candidatesOf, combinations } from './candidates.ts';
import type { Environment } from './environment.ts';
import type { Slice } from './slices.ts';
import type { Represented } from './values.ts';
import { verdictOf } from './verdict.ts';

/** Combinations of arguments that are tried for one entry, here and with Cedar itself. */
const MOST_TRIED = 512;
const MOST_ASKED = 16;

export interface Question {
  readonly slice: Slice;
  readonly environment: (args: ReadonlyMap<string, Represented> | undefined) => Environment;
  /** Whether the entry takes arguments. */
  readonly hasArguments: boolean;
  /** Cedar's own decision, for what is not evaluated here. Undefined where the entry has no known name. */
  readonly ask: ((args: ReadonlyMap<string, Represented>) => boolean) | undefined;
}

const NO_ARGUMENTS: ReadonlyMap<string, Represented> = new Map();

/**
 * Whether some arguments exist with which a call is admitted. First what holds for all arguments is found out; where
 * that leaves it open, arguments are tried at which a decision may change. Exact where each argument is only compared
 * with values that depend on no other argument; otherwise a call is taken for possible when it is not known to be
 * impossible (docs/policies.md "Lists").
 */
export const mayBeAdmitted = (question: Question): boolean => {
  const { slice, environment, hasArguments, ask } = question;
  const { enforced, reads } = slice;
  const isFixed = !hasArguments || (reads.args.size === 0 && !reads.wholeContext);
  const verdict = verdictOf(enforced, environment(isFixed ? NO_ARGUMENTS : undefined));
  if (verdict !== 'open' || ask === undefined) return verdict !== 'refused';
  return isFixed ? ask(NO_ARGUMENTS) : isAnyAdmitted(question, ask);
};

const isAnyAdmitted = (
  { slice: { enforced, reads }, environment }: Question,
  ask: NonNullable<Question['ask']>,
): boolean => {
  const all = candidatesOf(reads, environment(undefined));
  const { each, isWhole } = combinations(all, MOST_TRIED);
  let isComplete = isWhole && !reads.wholeContext && all.every(({ isComplete }) => isComplete);
  let asked = 0;
  for (const args of each()) {
    const verdict = verdictOf(enforced, environment(args));
    if (verdict === 'admitted') return true;
    if (verdict === 'refused') continue;
    asked += 1;
    if (asked > MOST_ASKED) isComplete = false;
    else if (ask(args)) return true;
  }
  return !isComplete;
};
