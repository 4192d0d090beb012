import { defaultPrefix } from './prefix.ts';
import { bare, contestsOf, nobody, type Contest, type MakeConflictRule, type Resolve } from './rule.ts';

const isContested = ({ backends }: Contest): boolean => backends.length > 1;

/**
 * spec: config.aggregation.conflictResolution `manual`: names stay as backends and overrides give them; of what is contested all the
 * same nobody gets the name (decisions).
 */
const tools: Resolve = (candidates) => {
  const contests = contestsOf(candidates);
  return {
    named: contests.filter((contest) => !isContested(contest)).flatMap((contest) => contest.candidates.map(bare)),
    unresolved: contests.filter(isContested).map(({ name, backends }) => ({ name, backends })),
  };
};

/** No override names a prompt, so nobody could mend a conflict by hand. */
const prompts: Resolve = (candidates) => ({
  named: contestsOf(candidates).flatMap((contest) =>
    isContested(contest) ? contest.candidates.map(defaultPrefix) : contest.candidates.map(bare),
  ),
  unresolved: [],
});

export const manualRule: MakeConflictRule = () => ({
  tools,
  namesOf: (candidate) => [bare(candidate).advertised],
  prompts,
  ownerOf: nobody,
});
