import { readsTogether, type Reads } from './argument-uses.ts';
import type { CompiledPolicy } from './compile-policy.ts';
import type { Environment } from './environment.ts';
import { FALSE, TRUE } from './outcome.ts';

/** The policies whose scope may hold one action on one entry, whoever calls. */
export interface Slice {
  readonly enforced: readonly CompiledPolicy[];
  /** Their scopes hold the action and the entry for sure. */
  readonly isSettled: boolean;
  readonly dryRun: readonly CompiledPolicy[];
  /** What the enforced ones read, and what all of them read. */
  readonly reads: Reads;
  readonly allReads: Reads;
}

/** Finds slices; equal ones are one value, so that there are few. */
export const slicesOf = (policies: readonly CompiledPolicy[]): ((environment: Environment) => Slice) => {
  const known = new Map<string, Slice>();
  return (environment) => {
    const outcomes = policies.map((policy) => ({ policy, mask: policy.isInScope(environment) }));
    const inScope = outcomes.filter(({ mask }) => mask !== FALSE);
    const isSettled = inScope.every(({ mask }) => mask === TRUE);
    const applying = inScope.map(({ policy }) => policy);
    const key = JSON.stringify([isSettled, ...applying.map(({ id }) => id)]);
    const before = known.get(key);
    if (before) return before;
    const enforced = applying.filter(({ isDryRun }) => !isDryRun);
    const slice: Slice = {
      enforced,
      isSettled,
      dryRun: applying.filter(({ isDryRun }) => isDryRun),
      reads: readsTogether(enforced.map(({ reads }) => reads)),
      allReads: readsTogether(applying.map(({ reads }) => reads)),
    };
    // Policies that name single tools make a slice for each of them: more than so many are not worth keeping.
    if (known.size >= MAX_SLICES) known.clear();
    known.set(key, slice);
    return slice;
  };
};

const MAX_SLICES = 1_000;
