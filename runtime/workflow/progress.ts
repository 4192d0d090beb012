import type { Call } from '../call/index.ts';
import { memberAt, isObject } from '../json/index.ts';
import type { PlannedStep, WorkflowPlan } from './plan.ts';
import type { Results, StepResult } from './results.ts';

/** Tells the client of each step that has ended, where it has asked for that (MCP "Progress"). */
export const progressOf = (
  { request: { bytes, meta }, client }: Call,
  { steps }: WorkflowPlan,
  results: Results,
): ((step: PlannedStep, result: StepResult) => void) => {
  const token = meta && isObject(bytes, meta.start) ? memberAt(bytes, meta.start, 'progressToken') : undefined;
  if (!token) return () => {};
  const progressToken = bytes.toString('utf8', token.start, token.end);
  return ({ id }, { status }) => {
    const rest = JSON.stringify({ progress: results.size, total: steps.length, message: `step "${id}" ${status}` });
    const params = `{"progressToken":${progressToken},${rest.slice(1)}`;
    client.notify(Buffer.from(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`));
  };
};
