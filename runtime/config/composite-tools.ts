import * as z from 'zod';
import { duration } from './durations.ts';
import { keyedList } from './keyed-list.ts';
import { hasItsType, requiredWhen, withRules } from './rules.ts';
import { checkGraph } from './workflow-graph.ts';

const freeObject = () => z.record(z.string(), z.unknown());

const onErrorSchema = withRules(
  z.strictObject({
    action: z
      .enum(['abort', 'continue', 'retry'])
      .default('abort')
      .describe('What a failing step does: end the workflow, go on with defaultResults, or try again.'),
    retryCount: z.int().min(1).max(100).optional().describe('How often to try again; for retry.'),
    retryDelay: duration().optional().describe('Pause before each new attempt; for retry. 1s when left out.'),
  }),
  requiredWhen({ key: 'action', is: 'retry' }, 'retryCount'),
).describe('What happens when the step fails.');

const answerSchema = (meaning: string) =>
  z
    .strictObject({
      action: z
        .enum(['skip_remaining', 'abort', 'continue'])
        .default('abort')
        .describe('End the workflow with what there is, end it as failed, or go on.'),
    })
    .describe(meaning);

/** `<workload>.<tool>`: docs/configuration.md "compositeTools" */
const stepToolSchema = z
  .string()
  .max(256)
  .regex(/^[^.\s]+\.\S+$/, { error: 'not a tool of a workload; write <workload>.<tool>' })
  .describe('Tool to call, as <workload>.<tool>; for type tool.');

const argumentsSchema = freeObject().describe(
  'Arguments of the tool; templates with .params and .steps are expanded in string values of the first level.',
);
const conditionSchema = z.string().describe('Template that decides whether the step runs.');
const defaultResultsSchema = z
  .unknown()
  .describe('Outputs to use when the step is skipped, or fails with onError.action continue.');

/** The step that forEach repeats; only tool calls. */
const innerStepSchema = withRules(
  z.strictObject({
    id: z.string().optional().describe('Step id; not needed here.'),
    type: z.enum(['tool']).default('tool').describe('Only tool.'),
    tool: stepToolSchema.optional(),
    arguments: argumentsSchema.optional(),
    condition: conditionSchema.optional(),
    defaultResults: defaultResultsSchema.optional(),
    timeout: duration().optional().describe('Longest time for one item.'),
    onError: onErrorSchema.optional(),
  }),
  requiredWhen({ key: 'type', is: 'tool' }, 'tool'),
).describe('Step to run for each item; only steps of type tool.');

const stepSchema = withRules(
  z.strictObject({
    id: z.string().min(1).max(128).describe('Unique id of the step.'),
    type: z.enum(['tool', 'elicitation', 'forEach']).default('tool').describe('Kind of step.'),
    tool: stepToolSchema.optional(),
    arguments: argumentsSchema.optional(),
    condition: conditionSchema.optional(),
    dependsOn: z.array(z.string()).optional().describe('Ids of the steps that must have ended first.'),
    defaultResults: defaultResultsSchema.optional(),
    timeout: duration().optional().describe('Longest time for the step.'),
    onError: onErrorSchema.optional(),
    message: z.string().optional().describe('Question to the user; for type elicitation.'),
    schema: freeObject().optional().describe('JSON Schema of the answer; for type elicitation.'),
    onDecline: answerSchema('What happens when the user declines.').optional(),
    onCancel: answerSchema('What happens when the user cancels or dismisses the question.').optional(),
    collection: z.string().optional().describe('Template that gives a JSON array; for type forEach.'),
    itemVar: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'not a variable name; use letters, digits and underscores' })
      .default('item')
      .describe('Name of the variable that holds the current item; for type forEach.'),
    step: innerStepSchema.optional(),
    maxIterations: z
      .int()
      .min(1)
      .max(1000)
      .default(100)
      .describe('Most items; a longer collection fails the step. For type forEach.'),
    maxParallel: z.int().min(1).max(1000).default(10).describe('Items worked on at once; for type forEach.'),
  }),
  requiredWhen({ key: 'type', is: 'tool' }, 'tool'),
  requiredWhen({ key: 'type', is: 'elicitation' }, 'message'),
  requiredWhen({ key: 'type', is: 'forEach' }, 'collection'),
  requiredWhen({ key: 'type', is: 'forEach' }, 'step'),
);

const outputPropertySchema = z.strictObject({
  type: z
    .enum(['string', 'integer', 'number', 'boolean', 'object', 'array'])
    .optional()
    .describe('Type of the property.'),
  description: z.string().optional().describe('Meaning of the property.'),
  value: z
    .string()
    .optional()
    .describe('Template such as {{.steps.<id>.output.<field>}} or {{.params.<name>}}; for objects also JSON text.'),
  default: z.unknown().optional().describe('Value when the template cannot be expanded, coerced to the type.'),
  get properties(): z.ZodOptional<z.ZodRecord<z.ZodString, typeof outputPropertySchema>> {
    return z.record(z.string(), outputPropertySchema).optional().describe('Nested properties; for type object.');
  },
});

const outputSchema = z
  .strictObject({
    properties: z.record(z.string(), outputPropertySchema).describe('Properties of the result by name.'),
    required: z.array(z.string()).optional().describe('Names of the properties that must be there.'),
  })
  .describe('What the workflow returns; the output of the last step when left out.');

/** One of docs/configuration.md "compositeTools" */
export const compositeToolSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Za-z0-9_.-]+$/, { error: 'not a tool name; use letters, digits, _, - and .' })
    .describe('Unique name of the workflow, under which clients call it.'),
  description: z.string().optional().describe('What the workflow does.'),
  parameters: freeObject().optional().describe('JSON Schema of the arguments: an object with properties and required.'),
  steps: keyedList(stepSchema, 'id')
    .min(1)
    .superRefine(checkGraph, { when: hasItsType })
    .describe('Steps of the workflow.'),
  timeout: duration().optional().describe('Longest time for the whole workflow.'),
  output: outputSchema.optional(),
});

/** docs/configuration.md "compositeTools" */
export const compositeToolsSchema = keyedList(compositeToolSchema, 'name')
  .optional()
  .describe('Workflows that clients call like tools.');

/** docs/configuration.md "compositeToolRefs"; a resource only, the operator renders them inline. */
export const compositeToolRefSchema = z
  .strictObject({ name: z.string().min(1).describe('Name of the VirtualMCPCompositeToolDefinition.') })
  .describe('VirtualMCPCompositeToolDefinition in the same namespace.');
