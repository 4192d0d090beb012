import type { BackendTarget, WorkflowTarget } from '../call/index.ts';
import type { OwnTool } from '../catalog/index.ts';
import { objectIn } from '../json/index.ts';
import { argumentProblems } from './literal-arguments.ts';
import type { WorkflowPlan } from './plan.ts';
import { isObjectValue } from './values.ts';

/** A workflow as a tool that is listed: docs/composite-tools.md "As a tool". */
export const ownToolOf = (plan: WorkflowPlan): OwnTool<WorkflowTarget> => ({
  name: plan.name,
  target: { kind: 'workflow', workflow: plan.name },
  bytes: entryOf(plan, []),
  uses: {
    tools: plan.tools,
    entry: (tools) => entryOf(plan, tools),
    problems: (targetOf) => argumentProblems(plan.calls, targetOf),
  },
});

const entryOf = ({ name, description, inputSchema, output }: WorkflowPlan, tools: readonly BackendTarget[]): Buffer =>
  Buffer.from(
    JSON.stringify({
      name,
      ...(description !== undefined && { description }),
      inputSchema,
      ...(output && { outputSchema: output.schema }),
      annotations: togetherOf(tools.map(annotationsOf)),
    }),
  );

interface Hints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly openWorldHint: boolean;
}

/** What a tool says of itself, with what MCP assumes of one that says nothing ("ToolAnnotations"). */
const annotationsOf = ({ listed, annotations: overrides = {} }: BackendTarget): Hints => {
  const own = listed && objectIn(listed.bytes)?.['annotations'];
  const said: Readonly<Record<string, unknown>> = { ...(isObjectValue(own) && own), ...overrides };
  const readOnlyHint = said['readOnlyHint'] === true;
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && said['destructiveHint'] !== false,
    openWorldHint: said['openWorldHint'] !== false,
  };
};

/** A workflow is as harmless as the least harmless of its tools. */
const togetherOf = (all: readonly Hints[]): Hints => ({
  readOnlyHint: all.every(({ readOnlyHint }) => readOnlyHint),
  destructiveHint: all.some(({ destructiveHint }) => destructiveHint),
  openWorldHint: all.some(({ openWorldHint }) => openWorldHint),
});
