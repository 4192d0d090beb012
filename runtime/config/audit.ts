import * as z from 'zod';
import { notYet } from './not-yet.ts';

/** docs/configuration.md "audit" */
export const auditSchema = notYet(
  z
    .strictObject({
      enabled: z.boolean().default(false).describe('Turns audit logging on.'),
      component: z.string().optional().describe('Component name in audit events.'),
      eventTypes: z.array(z.string()).optional().describe('Event types to audit; empty means all.'),
      excludeEventTypes: z
        .array(z.string())
        .optional()
        .describe('Event types to leave out; takes precedence over eventTypes.'),
      includeRequestData: z.boolean().default(false).describe('Includes request data in the events.'),
      includeResponseData: z.boolean().default(false).describe('Includes response data in the events.'),
      maxDataSize: z.int().min(0).default(1024).describe('Most bytes of request or response data in one event.'),
      logFile: z.string().optional().describe('File the events are written to; empty means standard output.'),
      detectApplicationErrors: z
        .boolean()
        .default(true)
        .describe(
          'Looks for error fields in the beginning of JSON-RPC response bodies when the HTTP status is 2xx, independent of includeResponseData.',
        ),
    })
    .describe('Audit logging.'),
  'audit logging',
);
