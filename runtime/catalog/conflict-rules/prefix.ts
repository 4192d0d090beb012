import { prefixedName } from '../names.ts';
import type { MakeConflictRule, Resolve } from './rule.ts';

/** spec: config.aggregation.conflictResolution `prefix`: every name begins with its backend's. */
export const prefixRule: MakeConflictRule = ({ prefixFormat }) => {
  const prefixAll = prefixedBy(prefixFormat);
  return {
    tools: prefixAll,
    prompts: prefixAll,
    // The longest name wins where one backend's is the beginning of another's (decisions: Names).
    ownerOf: (name, backends) =>
      [...backends]
        .filter(
          (backend) => prefixFormat.includes('{workload}') && name.startsWith(prefixedName(prefixFormat, backend, '')),
        )
        .sort((a, b) => b.length - a.length)[0],
  };
};

export const prefixedBy =
  (prefixFormat: string): Resolve =>
  (candidates) => ({
    named: candidates.map((each) => ({ ...each, advertised: prefixedName(prefixFormat, each.backend, each.name) })),
    unresolved: [],
  });
