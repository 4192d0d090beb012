import * as z from 'zod';

/** Every type of an audit event (docs/audit.md "Event types"). */
export const AUDIT_EVENT_TYPES = [
  'account_ended',
  'account_linked',
  'account_unlinked',
  'audit_started',
  'audit_stopped',
  'http_request',
  'login',
  'mcp_completion',
  'mcp_discover',
  'mcp_initialize',
  'mcp_logging',
  'mcp_notification',
  'mcp_ping',
  'mcp_prompt_get',
  'mcp_prompts_list',
  'mcp_request',
  'mcp_resource_read',
  'mcp_resource_subscribe',
  'mcp_resource_templates_list',
  'mcp_resource_unsubscribe',
  'mcp_resources_list',
  'mcp_response',
  'mcp_roots_list_changed',
  'mcp_session_end',
  'mcp_subscriptions_listen',
  'mcp_task_cancel',
  'mcp_task_get',
  'mcp_task_update',
  'mcp_tool_call',
  'mcp_tools_list',
  'oauth_authorize',
  'oauth_consent',
  'oauth_grant_ended',
  'oauth_register',
  'oauth_revoke',
  'oauth_token',
  'oauth_upstream_login',
  'request_received',
  'sse_connection',
  'user_revoked',
] as const;

export type AuditEventType = (typeof AUDIT_EVENT_TYPES)[number];

/** docs/configuration.md "audit" */
export const auditSchema = z
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
  .describe('Audit logging.');
