import * as z from 'zod';
import { keyedList } from './keyed-list.ts';
import { workloadNameSchema } from './scalars.ts';

/** `tools[].toolConfigRef` of docs/configuration.md "aggregation"; a resource only, the operator renders it inline. */
export const toolConfigRefSchema = z
  .strictObject({ name: z.string().min(1).describe('Name of the MCPToolConfig.') })
  .describe('MCPToolConfig in the same namespace; when set, filter and overrides are ignored.');

/** MCP ToolAnnotations; only the fields that are given replace the backend's own. */
export const toolAnnotationsSchema = z
  .strictObject({
    title: z.string().optional().describe('Human-readable title.'),
    readOnlyHint: z.boolean().optional().describe('The tool does not modify its environment.'),
    destructiveHint: z.boolean().optional().describe('The tool may perform destructive updates.'),
    idempotentHint: z.boolean().optional().describe('Repeating a call with the same arguments has no further effect.'),
    openWorldHint: z.boolean().optional().describe('The tool interacts with external entities.'),
  })
  .describe('Annotations to replace; fields left out keep the value of the backend.');

/** `tools[].overrides.<tool>` of docs/configuration.md "aggregation" */
export const toolOverrideSchema = z.strictObject({
  name: z.string().min(1).max(128).optional().describe('New name of the tool.'),
  description: z.string().optional().describe('New description of the tool.'),
  annotations: toolAnnotationsSchema.optional(),
});

/** Largest number of tools of one workload, in a resource. */
export const MOST_TOOLS = 10_000;

const workloadToolsShape = {
  workload: workloadNameSchema.describe('Name of the backend workload.'),
  excludeAll: z
    .boolean()
    .optional()
    .describe('Hides all tools of the workload from clients; composite tools may still use them.'),
  filter: z
    .array(z.string())
    .max(MOST_TOOLS)
    .optional()
    .describe(
      'Advertised tool names to keep; the others are hidden but stay usable by composite tools. Ignored when toolConfigRef is set.',
    ),
  overrides: z
    .record(z.string(), toolOverrideSchema)
    .meta({ maxProperties: MOST_TOOLS })
    .optional()
    .describe(
      'New name, description or annotations by original tool name; applied before conflicts are resolved. Ignored when toolConfigRef is set.',
    ),
};

/** Format of rule `prefix`, and of names that rule `priority` leaves open. */
export const DEFAULT_PREFIX_FORMAT = '{workload}_';

const aggregationShape = {
  conflictResolution: z
    .enum(['prefix', 'priority', 'manual'])
    .default('prefix')
    .describe(
      'How equal tool names are told apart. prefix: each name gets the workload in front. priority: the first workload of the order wins. manual: overrides must settle every conflict.',
    ),
  conflictResolutionConfig: z
    .strictObject({
      prefixFormat: z
        .string()
        .max(64)
        .regex(/^([A-Za-z0-9_.-]|\{workload\})*$/, {
          error: 'gives illegal tool names; use letters, digits, _, - and . around {workload}',
        })
        .default(DEFAULT_PREFIX_FORMAT)
        .describe('Prefix of tool names under prefix; {workload} stands for the name of the workload.'),
      priorityOrder: z.array(workloadNameSchema).optional().describe('Workloads in order of precedence, for priority.'),
    })
    .prefault({})
    .describe('Settings of the conflict resolution.'),
  excludeAllTools: z
    .boolean()
    .optional()
    .describe('Hides all backend tools from tools/list; composite tools may still use them.'),
};

const aggregationOf = <More extends z.core.$ZodLooseShape>(ofWorkload: More) =>
  z
    .strictObject({
      ...aggregationShape,
      tools: keyedList(z.strictObject({ ...workloadToolsShape, ...ofWorkload }), 'workload')
        .optional()
        .describe('Filtering and overrides per workload.'),
    })
    .describe('How the tools of all backends become one list.');

/** docs/configuration.md "aggregation", as a resource spells it. */
export const aggregationSchema = aggregationOf({ toolConfigRef: toolConfigRefSchema.optional() });

/** The same in the file, where references are already resolved. */
export const fileAggregationSchema = aggregationOf({});
