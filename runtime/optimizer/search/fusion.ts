/** A tool's ranks, from 1, in the rankings that have it. */
export interface Ranks {
  readonly keyword: number | undefined;
  readonly semantic: number | undefined;
}

/** How much more the first ranks count than those after them: the constant of reciprocal rank fusion. */
const FLATNESS = 5;

/**
 * Weighted reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): 0 to 1. With ratio 0 only the keyword ranking
 * counts and with 1 only the semantic one; a tool that the counting ranking does not have gets 0.
 */
export const fusedScore = ({ keyword, semantic }: Ranks, semanticRatio: number): number =>
  (1 - semanticRatio) * reciprocal(keyword) + semanticRatio * reciprocal(semantic);

const reciprocal = (rank: number | undefined): number => (rank === undefined ? 0 : (FLATNESS + 1) / (FLATNESS + rank));
