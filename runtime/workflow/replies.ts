import type { Call, Reply } from '../call/index.ts';
import type { Expand } from './expansion.ts';
import { StepFailure } from './failure.ts';
import type { WorkflowPlan } from './plan.ts';
import { inputRequests } from './questions.ts';
import type { Results } from './results.ts';
import type { Questions } from './run.ts';
import { isObjectValue } from './values.ts';
import { VmcpError } from '../errors.ts';

/**
 * JSON text of the result of a workflow that is over. Throws `workflow_failed` where its output lacks what it requires.
 */
export const resultText = (plan: WorkflowPlan, results: Results, expand: Expand): string => {
  const { output, name } = plan;
  if (output) return resultOf(outputOf(() => output.make(expand, results.data), name));
  const last = results.last();
  // The result of a tool is passed on as it is, with images and all.
  return last?.whole ?? resultOf(last?.output ?? {});
};

const outputOf = <T>(make: () => T, workflow: string): T => {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    throw new VmcpError('workflow_failed', `"${workflow}" has no output: ${error.message}`, { data: { workflow } });
  }
};

/** MCP "Structured Content": the same as text, for clients that know no other. */
const resultOf = (value: unknown): string => {
  const text = JSON.stringify(value);
  const content = [{ type: 'text', text }];
  return JSON.stringify({ content, ...(isObjectValue(value) && { structuredContent: value }) });
};

/** The answer to a call whose workflow waits for its user (MCP 2026-07-28, "Multi Round-Trip Requests"). */
export const waitingReply = (call: Call, questions: Questions, requestState: string): Reply =>
  replied(
    call,
    JSON.stringify({ resultType: 'input_required', inputRequests: inputRequests(questions), requestState }),
  );

/** The answer to a call; `result`: JSON text. */
export const replied = ({ request: { id } }: Call, result: string): Reply => ({
  kind: 'whole',
  status: 200,
  body: Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"result":${result}}`),
});
