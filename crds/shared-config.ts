import * as z from 'zod';

import { commonStatus, nonEmpty } from './kit.ts';

const referencingWorkload = z.strictObject({
  kind: z.enum(['MCPServer', 'VirtualMCPServer', 'MCPRemoteProxy']).describe('Kind of the workload.'),
  name: nonEmpty().describe('Name of the workload.'),
});

/** Status of configuration that several workloads share: docs/decisions.md "Users of shared configuration" */
export const sharedConfigStatus = () =>
  z.strictObject({
    ...commonStatus,
    configHash: z.string().optional().describe('Hash of the spec; it changes when the spec does.'),
    referenceCount: z.int32().optional().describe('Number of workloads that refer to this object.'),
    referencingWorkloads: z
      .array(referencingWorkload)
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['kind', 'name'] })
      .optional()
      .describe('The workloads that refer to this object.'),
  });
