import * as z from 'zod';
import { MOST_TOOLS, toolOverrideSchema } from '../runtime/config/index.ts';
import { AGE_COLUMN, REFERENCES_COLUMN, VALID_COLUMN, defineKind } from './kind.ts';
import { mark, setOf } from './kit.ts';
import { sharedConfigStatus } from './shared-config.ts';

export const mcpToolConfig = defineKind({
  kind: 'MCPToolConfig',
  plural: 'mcptoolconfigs',
  shortNames: ['toolconfig'],
  description: 'Which tools of a workload are offered and under which names, shared by the servers that refer to it.',
  spec: z.strictObject({
    toolsFilter: mark(setOf(z.string()), { maxItems: MOST_TOOLS })
      .optional()
      .describe('Tools to keep; the others are hidden. Absent: all.'),
    toolsOverride: z
      .record(z.string(), toolOverrideSchema)
      .meta({ maxProperties: MOST_TOOLS })
      .optional()
      .describe('New name, description or annotations, by the name the backend gives the tool.'),
  }),
  status: sharedConfigStatus(),
  columns: [VALID_COLUMN, REFERENCES_COLUMN, AGE_COLUMN],
});
