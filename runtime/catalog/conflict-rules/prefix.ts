import { DEFAULT_PREFIX_FORMAT } from '../../config/index.ts';
import type { Candidate, Named } from '../candidate.ts';
import { prefixedName } from '../names.ts';
import type { MakeConflictRule, Resolve } from './rule.ts';

/** docs/aggregation.md "Names: conflictResolution", `prefix`: every name begins with its backend's. */
export const prefixRule: MakeConflictRule = ({ prefixFormat }) => {
  const prefixed = prefixedBy(prefixFormat);
  const prefixAll: Resolve = (candidates) => ({ named: candidates.map(prefixed), unresolved: [] });
  return {
    tools: prefixAll,
    namesOf: (candidate) => [prefixed(candidate).advertised],
    prompts: prefixAll,
    // The longest name wins where one backend's is the beginning of another's (docs/decisions.md "Names of tools").
    ownerOf: (name, backends) =>
      [...backends]
        .filter(
          (backend) => prefixFormat.includes('{workload}') && name.startsWith(prefixedName(prefixFormat, backend, '')),
        )
        .sort((a, b) => b.length - a.length)[0],
  };
};

const prefixedBy =
  (prefixFormat: string) =>
  (candidate: Candidate): Named => ({
    ...candidate,
    advertised: prefixedName(prefixFormat, candidate.backend, candidate.name),
  });

/** Under the default prefix, whatever `prefixFormat` says. */
export const defaultPrefix = prefixedBy(DEFAULT_PREFIX_FORMAT);
