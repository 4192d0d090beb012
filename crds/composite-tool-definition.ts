import * as z from 'zod';
import { compositeToolSchema } from '../runtime/config/index.ts';
import { AGE_COLUMN, READY_COLUMN, defineKind } from './kind.ts';
import { commonStatus, mark, setOf } from './kit.ts';

/** Maximum number of steps, and of dependencies of one step. */
const MAX_STEPS = 256;

/** Marked wherever a workflow is written: in `config.compositeTools` as well. */
const spec = mark(compositeToolSchema, {
  below: { steps: { maxItems: MAX_STEPS }, 'steps[].dependsOn': { maxItems: MAX_STEPS } },
});

export const virtualMcpCompositeToolDefinition = defineKind({
  kind: 'VirtualMCPCompositeToolDefinition',
  plural: 'virtualmcpcompositetooldefinitions',
  shortNames: ['vmcpctd', 'compositetool'],
  description: 'A workflow over the tools of several backends, offered as one tool by the servers that refer to it.',
  spec,
  status: z.strictObject({
    validationStatus: z.enum(['Valid', 'Invalid', 'Unknown']).optional().describe('Whether the workflow can run.'),
    validationErrors: z.array(z.string()).optional().describe('What is wrong with it.'),
    referencingVirtualServers: setOf(z.string()).optional().describe('VirtualMCPServers that refer to it.'),
    ...commonStatus,
  }),
  columns: [
    { name: 'Workflow', path: '.spec.name' },
    { name: 'Status', path: '.status.validationStatus' },
    READY_COLUMN,
    AGE_COLUMN,
  ],
});
