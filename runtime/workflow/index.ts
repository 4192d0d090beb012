/**
 * Composite tools: workflows over the tools of backends, each offered as one tool. A configuration is made into plans
 * once (`plan.ts`); a call runs the steps of a plan (`run.ts`), whose types have a file each below `steps/`. The calls
 * of steps go the way of all calls. Start at `workflows.ts`.
 */

export { checkedParameters } from './check-parameters.ts';
export { dryRun } from './dry-run.ts';
export { dryRunReport } from './dry-run-report.ts';
export type { ExecutionReport } from './executions.ts';
export { workflows, type Workflows } from './workflows.ts';
export type { WorkflowConfig } from './step.ts';
