import type { BuiltinTarget } from '../call/index.ts';
import type { OwnTool } from '../catalog/index.ts';
import { serverSummary } from './server-summary.ts';

/** The two names of the optimizer; no other tool is offered under them while it is on. */
export const FIND_TOOL = 'find_tool';
export const CALL_TOOL = 'call_tool';

const text = (description: string) => ({ type: 'string', description });

const findTool = (summary: string) => ({
  name: FIND_TOOL,
  title: 'Find tools',
  description: `Finds the tools of this server that fit a task. Use it first: the other tools are not listed. The answer has the whole definitions of the best ones, with the arguments that each takes; call them with ${CALL_TOOL}.${summary}`,
  inputSchema: {
    type: 'object',
    properties: {
      tool_description: text('What the tool is to do, in a few words or a sentence.'),
      tool_keywords: {
        type: 'array',
        items: { type: 'string' },
        description: 'Words that the name or the description of the tool may have.',
      },
      server: text('Only tools of this server.'),
    },
    required: ['tool_description'],
  },
  outputSchema: {
    type: 'object',
    properties: {
      tools: { type: 'array', items: { type: 'object' } },
      search: { enum: ['keyword', 'semantic', 'hybrid'] },
      degraded: { type: 'string' },
      nearest: { type: 'object' },
      token_metrics: { type: 'object' },
    },
    required: ['tools', 'search', 'token_metrics'],
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
});

const callTool = {
  name: CALL_TOOL,
  title: 'Call a tool',
  description: `Calls a tool that ${FIND_TOOL} has found. The answer is that of the tool.`,
  inputSchema: {
    type: 'object',
    properties: {
      tool_name: text(`The name of the tool, as ${FIND_TOOL} gives it.`),
      parameters: { type: 'object', description: 'The arguments of the tool, as its inputSchema says.' },
    },
    required: ['tool_name', 'parameters'],
  },
};

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const ofRuntime = (tool: string, bytes: Buffer): OwnTool<BuiltinTarget> => ({
  name: tool,
  target: { kind: 'builtin', tool },
  isAlone: true,
  bytes,
});

/** What is listed in place of all other tools. */
export const OPTIMIZER_TOOLS: readonly OwnTool<BuiltinTarget>[] = [
  ofRuntime(CALL_TOOL, json(callTool)),
  {
    ...ofRuntime(FIND_TOOL, json(findTool(''))),
    bytesFor: (offered) => json(findTool(serverSummary(offered))),
  },
];
