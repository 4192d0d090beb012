import { contractProblems } from '../../crds/index.ts';
import { VERSION } from '../../runtime/version.ts';
import { withoutSuperseded } from './superseded.ts';
import type { Validator, Violation } from './validator.ts';

/** The schemas that the CRDs are made of, with the checks that a CRD cannot hold: the graphs of workflows, for instance. */
export const contract: Validator = {
  validate: (object) =>
    contractProblems(object.kind, { ...object, spec: withoutSuperseded(object.spec ?? {}) }).map((problem) =>
      problem.isUnknownField === true ? unknownField(problem.path) : { ...problem, word: 'Invalid' },
    ),
};

/** Nobody misspelt it: a newer release has brought the CRDs, and this operator is from before, or back. */
const unknownField = (path: string): Violation => ({
  path,
  reason: `is not known to this operator (version ${VERSION})`,
  remedy: 'upgrade the operator to the release of the CRDs',
  word: 'UnknownField',
});
