import * as z from 'zod';
import type { ListKind } from '../../mcp/index.ts';

/**
 * The shape that MCP defines for list entries. Clients validate whole lists: one invalid entry makes them refuse the
 * entries of all backends. Unknown members are allowed.
 */

const named = {
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  icons: z
    .array(
      z.object({
        src: z.string(),
        mimeType: z.string().optional(),
        sizes: z.array(z.string()).optional(),
        theme: z.enum(['light', 'dark']).optional(),
      }),
    )
    .optional(),
  _meta: z.looseObject({}).optional(),
};

const aboutContent = {
  mimeType: z.string().optional(),
  annotations: z
    .object({
      audience: z.array(z.enum(['user', 'assistant'])).optional(),
      priority: z.number().min(0).max(1).optional(),
      lastModified: z.iso.datetime({ offset: true }).optional(),
    })
    .optional(),
};

const objectSchema = z.object({
  type: z.literal('object'),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).optional(),
});

const hint = z.boolean().optional();

const tool = z.object({
  ...named,
  inputSchema: objectSchema,
  outputSchema: objectSchema.optional(),
  annotations: z
    .object({
      title: z.string().optional(),
      readOnlyHint: hint,
      destructiveHint: hint,
      idempotentHint: hint,
      openWorldHint: hint,
    })
    .optional(),
  execution: z.object({ taskSupport: z.enum(['required', 'optional', 'forbidden']).optional() }).optional(),
});

const promptArgument = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  required: z.boolean().optional(),
});

const LEGACY = {
  tools: tool,
  prompts: z.object({ ...named, arguments: z.array(promptArgument).optional() }),
  resources: z.object({ ...named, ...aboutContent, uri: z.string(), size: z.number().optional() }),
  resourceTemplates: z.object({ ...named, ...aboutContent, uriTemplate: z.string() }),
} as const satisfies Readonly<Record<ListKind, z.ZodType>>;

/** MCP 2026-07-28, "Tool": a result may be of any type. */
const MODERN = { ...LEGACY, tools: tool.extend({ outputSchema: z.looseObject({}).optional() }) };

/** The first member of an entry (JSON text) that violates MCP, as a path; undefined where the entry is valid. */
export const invalidMemberOf = (kind: ListKind, entry: Buffer, isModern: boolean): string | undefined => {
  const { error } = (isModern ? MODERN : LEGACY)[kind].safeParse(JSON.parse(entry.toString()));
  return error?.issues[0]?.path.slice(0, 2).map(String).join('.');
};
