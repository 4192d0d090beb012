import type { Config } from '../config/index.ts';
import { prefixedName } from './names.ts';

/** What `config.aggregation` says about names. */
export interface NamingSettings {
  readonly conflictResolution: Config['aggregation']['conflictResolution'];
  readonly prefixFormat: string;
}

/** How equal names of different backends are told apart. */
export interface ConflictRule {
  /** What a backend's tool is called here. */
  readonly nameOf: (backend: string, tool: string) => string;
  /** Which of `backends` a name points to, whether or not it has such a tool; undefined where a name does not tell. */
  readonly ownerOf: (name: string, backends: readonly string[]) => string | undefined;
}

/** One line per rule; what is missing here, the configuration refuses as not supported yet. */
const conflictRules: Readonly<
  Partial<Record<NamingSettings['conflictResolution'], (of: NamingSettings) => ConflictRule>>
> = {
  prefix: ({ prefixFormat }) => ({
    nameOf: (backend, tool) => prefixedName(prefixFormat, backend, tool),
    // The longest name wins where one backend's is the beginning of another's (decisions: Names).
    ownerOf: (name, backends) =>
      [...backends]
        .filter(
          (backend) => prefixFormat.includes('{workload}') && name.startsWith(prefixedName(prefixFormat, backend, '')),
        )
        .sort((a, b) => b.length - a.length)[0],
  }),
};

export const conflictRule = (settings: NamingSettings): ConflictRule => {
  const make = conflictRules[settings.conflictResolution];
  if (!make) throw new Error(`no conflict rule ${settings.conflictResolution}`);
  return make(settings);
};
