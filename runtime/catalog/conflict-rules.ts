import { manualRule } from './conflict-rules/manual.ts';
import { prefixRule } from './conflict-rules/prefix.ts';
import { priorityRule } from './conflict-rules/priority.ts';
import type { ConflictRule, MakeConflictRule } from './conflict-rules/rule.ts';
import type { NamingSettings } from './settings.ts';

/** One line per rule. */
const conflictRules: Readonly<Record<NamingSettings['conflictResolution'], MakeConflictRule>> = {
  prefix: prefixRule,
  priority: priorityRule,
  manual: manualRule,
};

/** The rule of `conflictResolution`. */
export const conflictRule = (settings: NamingSettings): ConflictRule =>
  conflictRules[settings.conflictResolution](settings);
