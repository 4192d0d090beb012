import { defaultPrefix } from './prefix.ts';
import { bare, contestsOf, noOwner, type Contest, type MakeConflictRule, type Resolve } from './rule.ts';

const isContested = ({ backends }: Contest): boolean => backends.length > 1;

/**
 * docs/aggregation.md "Names: conflictResolution", `manual`: names stay as backends and overrides give them; no backend
 * gets a name that is still contested (docs/decisions.md "Manual conflicts").
 */
const tools: Resolve = (candidates) => {
  const contests = contestsOf(candidates);
  return {
    named: contests.filter((contest) => !isContested(contest)).flatMap((contest) => contest.candidates.map(bare)),
    unresolved: contests.filter(isContested).map(({ name, backends }) => ({ name, backends })),
  };
};

/** Overrides do not apply to prompts, so a conflict could not be resolved by hand. */
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
  ownerOf: noOwner,
});
