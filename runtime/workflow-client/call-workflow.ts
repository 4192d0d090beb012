import * as z from 'zod';
import { isObject, isText, memberAt, objectIn, skipSpace, withoutMembers } from '../json/index.ts';
import type { Answerer } from './answers.ts';
import { type HttpAnswer, type McpServer, requestTool, type ToolRequest } from './mcp-request.ts';
import { clipped } from '../text.ts';

export interface WorkflowCall {
  readonly server: McpServer;
  /** Of the composite tool. */
  readonly name: string;
  /** JSON text of an object. */
  readonly params: string;
}

export interface CallDeps {
  readonly signal: AbortSignal;
  /** A line about a step that has ended. */
  readonly tell: (line: string) => void;
  readonly answer: Answerer;
}

/** `result`: JSON text. */
export type WorkflowOutcome =
  | { readonly kind: 'completed'; readonly result: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Questions are asked one round after another; a tool of a workflow might ask for ever. */
const MOST_ROUNDS = 100;

/** Calls a composite tool, and answers what it asks. Throws what `answer` throws, and where no server answers. */
export const callWorkflow = async (
  { server, name, params }: WorkflowCall,
  { signal, tell, answer }: CallDeps,
): Promise<WorkflowOutcome> => {
  let tool: ToolRequest = { name, args: params };
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const given = await requestTool(server, tool, {
      signal,
      onMessage: (message) => {
        const { data } = progressSchema.safeParse(message);
        if (data) tell(progressLine(data.params));
      },
    });
    const asked = questionsIn(given);
    if (!asked) return outcomeOf(given);
    const { requestState, inputRequests } = asked;
    const inputResponses: Record<string, unknown> = {};
    for (const [key, { params: question }] of Object.entries(inputRequests))
      inputResponses[key] = await answer(key, question);
    tool = { name, args: params, continued: { requestState, inputResponses } };
  }
  return { kind: 'failed', message: `it asks more than ${MOST_ROUNDS} times` };
};

const progressSchema = z.object({
  method: z.literal('notifications/progress'),
  params: z.object({ progress: z.number(), total: z.number().optional(), message: z.string().optional() }),
});

const progressLine = ({ progress, total, message = '' }: z.infer<typeof progressSchema>['params']): string =>
  `[${progress}${total === undefined ? '' : `/${total}`}] ${message}`;

const askedSchema = z.object({
  result: z.object({
    resultType: z.literal('input_required'),
    requestState: z.string(),
    inputRequests: z.record(
      z.string(),
      z.object({
        method: z.literal('elicitation/create'),
        params: z.object({
          mode: z.literal('form').optional(),
          message: z.string(),
          requestedSchema: z.record(z.string(), z.unknown()),
        }),
      }),
    ),
  }),
});

const questionsIn = ({ body }: HttpAnswer): z.infer<typeof askedSchema>['result'] | undefined =>
  body.length === 0 ? undefined : askedSchema.safeParse(objectIn(body)).data?.result;

const answerSchema = z.union([
  z.object({
    error: z.object({ code: z.number(), message: z.string() }),
  }),
  z.object({
    result: z.object({
      resultType: z.unknown().optional(),
      isError: z.boolean().optional(),
      content: z.array(z.unknown()).optional(),
      inputRequests: z.unknown().optional(),
    }),
  }),
]);

const outcomeOf = ({ status, body }: HttpAnswer): WorkflowOutcome => {
  if (status === 401) return failed('the server asks for a token of its user: --token-file FILE, or VMCP_TOKEN');
  const { data } = answerSchema.safeParse(objectIn(body));
  if (!data) return failed(`the server gives no answer of MCP: HTTP ${status}; is its URL that of the endpoint?`);
  if ('error' in data) return failed(data.error.message);
  const { resultType } = data.result;
  if (resultType !== undefined && resultType !== 'complete') return failed(unfinished(data.result));
  if (data.result.isError) return failed(textsIn(data.result.content).join('\n') || 'it reports an error');
  return { kind: 'completed', result: resultText(body) };
};

const failed = (message: string): WorkflowOutcome & { kind: 'failed' } => ({ kind: 'failed', message });

/** A result of another type than `complete` is none yet (MCP 2026-07-28 "Result"). */
const unfinished = ({ resultType, inputRequests }: Readonly<Record<string, unknown>>): string => {
  const { data: wanted = {} } = wantedSchema.safeParse(inputRequests);
  const asked = Object.entries(wanted).map(([key, { method, params = {} }]) => {
    const words = [params.mode && `of mode ${params.mode}`, params.message, params.url].filter((word) => word);
    return `${JSON.stringify(key)} is ${[method, ...words].join(' ')}`;
  });
  const what = asked.length === 0 ? 'nothing that it names' : asked.slice(0, MOST_WANTED).join(', ');
  return `it is not done (${clipped(JSON.stringify(resultType))}), and this command cannot answer it: it asks for ${clipped(what, MAX_WANTED)}`;
};

const MOST_WANTED = 5;
const MAX_WANTED = 1_000;

const wantedSchema = z.record(
  z.string(),
  z.object({
    method: z.string(),
    params: z
      .object({ mode: z.string().optional(), message: z.string().optional(), url: z.string().optional() })
      .optional(),
  }),
);

const textSchema = z.object({ type: z.literal('text'), text: z.string() });

const textsIn = (content: readonly unknown[] = []): readonly string[] =>
  content.flatMap((block) => textSchema.safeParse(block).data?.text ?? []);

/** The structured content, or the content where there is none: as the server wrote it, so that no number changes. */
const resultText = (body: Buffer): string => {
  const result = memberAt(body, skipSpace(body, 0), 'result');
  if (!result || !isObject(body, result.start)) return '{}';
  const structured = memberAt(body, result.start, 'structuredContent');
  if (structured) return body.toString('utf8', structured.start, structured.end);
  return withoutMembers(
    body.subarray(result.start, result.end),
    (bytes, keyAt) => isText(bytes, keyAt, '_meta') || isText(bytes, keyAt, 'resultType'),
  ).toString();
};
