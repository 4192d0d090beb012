import { contractProblems } from '../../crds/index.ts';
import type { Validator } from './validator.ts';

/** The schemas that the CRDs are made of, with the checks that a CRD cannot hold: the graphs of workflows, for instance. */
export const contract: Validator = {
  validate: (object) =>
    contractProblems(object.kind, object).map((problem) => ({ ...problem, word: 'Invalid' as const })),
};
