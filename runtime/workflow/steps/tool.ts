import { planArguments } from '../expansion.ts';
import type { StepType } from '../step.ts';

/** Calls a tool of a backend. */
export const toolStep: StepType = {
  plan: ({ tool = '', arguments: written }) => {
    const args = planArguments(written);
    return {
      templates: args.templates,
      tools: [tool],
      run: async ({ callTool, data, signal }) => {
        const result = await callTool({ reference: tool, args, data }, signal);
        return { kind: 'completed', output: result.output, result };
      },
    };
  },
};
