/**
 * The client of `vmcp workflow run`: one call of a composite tool on revision 2026-07-28, a line for each step as it
 * ends, and answers to what the workflow asks, from flags or a terminal. Start at `call-workflow.ts`.
 */

export { answering, type GivenAnswers, readAnswers } from './answers.ts';
export { callWorkflow, type WorkflowCall, type WorkflowOutcome } from './call-workflow.ts';
export type { Terminal } from './prompts.ts';
