import type { Candidate, Named } from '../candidate.ts';
import { cutName } from '../names.ts';
import type { NamingSettings } from '../settings.ts';

/** Resolves equal names of different backends. */
export interface ConflictRule {
  readonly tools: Resolve;
  /** Every name that a tool may be advertised under, whatever the names of the others. */
  readonly namesOf: (candidate: Candidate) => readonly string[];
  readonly prompts: Resolve;
  /**
   * Which of `backends` a name belongs to by its form, whether or not the backend has such a tool; undefined where
   * names do not show it.
   */
  readonly ownerOf: (name: string, backends: readonly string[]) => string | undefined;
}

/**
 * Assigns names. A candidate without a name is dropped, and reported in `unresolved` where no setting asks for that.
 */
export type Resolve = (candidates: readonly Candidate[]) => {
  readonly named: readonly Named[];
  readonly unresolved: readonly UnresolvedName[];
};

/** A name that several backends claim without a setting that decides: no backend gets it. */
export interface UnresolvedName {
  readonly name: string;
  readonly backends: readonly string[];
}

export type MakeConflictRule = (settings: NamingSettings) => ConflictRule;

/** All candidates for one name. */
export interface Contest {
  readonly name: string;
  readonly candidates: readonly Candidate[];
  /** In name order, each once. */
  readonly backends: readonly string[];
}

/** Groups candidates by the name that they want. */
export const contestsOf = (candidates: readonly Candidate[]): readonly Contest[] => {
  const byName = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const known = byName.get(candidate.name);
    if (known) known.push(candidate);
    else byName.set(candidate.name, [candidate]);
  }
  return [...byName].map(([name, contenders]) => ({
    name,
    candidates: contenders,
    backends: [...new Set(contenders.map(({ backend }) => backend))].sort(),
  }));
};

/** The candidate under its own name, cut to the longest name allowed. */
export const bare = (candidate: Candidate): Named => ({ ...candidate, advertised: cutName(candidate.name) });

/** `ownerOf` of rules whose names do not show their backend. */
export const noOwner = (): undefined => undefined;
