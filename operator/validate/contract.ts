import { contractProblems } from '../../crds/index.ts';
import { VERSION } from '../../runtime/version.ts';
import type { Validator, Violation } from './validator.ts';

/**
 * The schemas that the CRDs are made of, with the checks that a CRD cannot hold: the graphs of workflows, for instance.
 */
export const contract: Validator = {
  validate: (object) =>
    contractProblems(object.kind, { ...object, spec: withoutSuperseded(object.spec ?? {}) }).map((problem) =>
      problem.isUnknownField === true ? unknownField(problem.path) : { ...problem, conditionReason: 'Invalid' },
    ),
};

/** The field is not misspelt: the CRDs are of a newer release than this operator. */
const unknownField = (path: string): Violation => ({
  path,
  reason: `is not known to this operator (version ${VERSION})`,
  remedy: 'upgrade the operator to the release of the CRDs',
  conditionReason: 'UnknownField',
});

/**
 * Keys of `spec.config` that say nothing where `spec` has a field of the same name (docs/decisions.md "Spec before
 * config").
 */
export const SUPERSEDED_KEYS = ['groupRef', 'incomingAuth', 'outgoingAuth', 'sessionStorage'] as const;

/**
 * The spec without keys that a field beside them supersedes: `ConfigOverridden` reports those, and they are not
 * validated.
 */
export const withoutSuperseded = <T extends object>(spec: T): T => {
  const { config, ...above } = spec as T & { readonly config?: unknown };
  if (typeof config !== 'object' || config === null) return spec;
  const left = Object.entries(config).filter(
    ([key]) =>
      !(
        (SUPERSEDED_KEYS as readonly string[]).includes(key) &&
        (above as Readonly<Record<string, unknown>>)[key] !== undefined
      ),
  );
  return { ...spec, config: Object.fromEntries(left) };
};
