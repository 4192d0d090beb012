import type { FurtherChecks } from './config/index.ts';
import { policyFindings, policyWarnings } from './gate/index.ts';
import { workflowFindings, workflowWarnings } from './workflow-checks/index.ts';

/** Checks of a configuration beyond its schemas, by the rooms that use what they check. */
export const FURTHER_CHECKS: FurtherChecks = {
  problems: (file) => [...policyFindings(file), ...workflowFindings(file)],
  warnings: (config) => [...policyWarnings(config), ...workflowWarnings(config)],
};
