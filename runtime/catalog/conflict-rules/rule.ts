import type { Candidate, Named } from '../candidate.ts';
import { cutName } from '../names.ts';
import type { NamingSettings } from '../settings.ts';

/** How equal names of different backends are told apart. */
export interface ConflictRule {
  readonly tools: Resolve;
  /** Every name that a tool may be advertised under, whatever others are called. */
  readonly namesOf: (candidate: Candidate) => readonly string[];
  readonly prompts: Resolve;
  /** Which of `backends` a name points to, whether or not it has such a tool; undefined where a name does not tell. */
  readonly ownerOf: (name: string, backends: readonly string[]) => string | undefined;
}

/** Gives names; who gets none is out, and is told of in `unresolved` where that is nobody's wish. */
export type Resolve = (candidates: readonly Candidate[]) => {
  readonly named: readonly Named[];
  readonly unresolved: readonly UnresolvedName[];
};

/** A name that several backends claim and nothing decides about: none of them has it. */
export interface UnresolvedName {
  readonly name: string;
  readonly backends: readonly string[];
}

export type MakeConflictRule = (settings: NamingSettings) => ConflictRule;

/** Everything that wants one name. */
export interface Contest {
  readonly name: string;
  readonly candidates: readonly Candidate[];
  /** In name order, each once. */
  readonly backends: readonly string[];
}

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

/** Under its name as it is. */
export const bare = (candidate: Candidate): Named => ({ ...candidate, advertised: cutName(candidate.name) });

/** Only a prefix tells. */
export const nobody = (): undefined => undefined;
