import type { FurtherChecks } from './config/index.ts';
import { policyFindings, policyWarnings } from './gate/index.ts';

/** Checks of a configuration beyond its schemas, by the rooms that use what they check. */
export const FURTHER_CHECKS: FurtherChecks = { problems: policyFindings, warnings: policyWarnings };
