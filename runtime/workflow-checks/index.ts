/**
 * What can be said of composite tools before they run: templates and what they read, dependencies, schemas, outputs.
 * Reads workflows as their authors wrote them, for `vmcp validate`, the webhook and conditions alike; costs time in
 * proportion to the text. Start at `check.ts`.
 */

export { MAX_WORKFLOW_MS } from './check.ts';
export { isOfType } from './json-types.ts';
export { stepsRead } from './references.ts';
export type { WorkflowFinding } from './written.ts';
export {
  drawnWorkflow,
  OPTIMIZER_TOOLS,
  type WrittenWorkflows,
  workflowDoubts,
  workflowFindings,
  workflowProblems,
  workflowWarnings,
} from './findings.ts';
