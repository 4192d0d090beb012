import type { AuditEventType } from '../../config/index.ts';

/** Methods of MCP, and the words of `Message` for what has none. */
const TYPES: ReadonlyMap<string, AuditEventType> = new Map([
  ['initialize', 'mcp_initialize'],
  ['server/discover', 'mcp_discover'],
  ['ping', 'mcp_ping'],
  ['logging/setLevel', 'mcp_logging'],
  ['completion/complete', 'mcp_completion'],
  ['tools/call', 'mcp_tool_call'],
  ['tools/list', 'mcp_tools_list'],
  ['prompts/get', 'mcp_prompt_get'],
  ['prompts/list', 'mcp_prompts_list'],
  ['resources/read', 'mcp_resource_read'],
  ['resources/list', 'mcp_resources_list'],
  ['resources/templates/list', 'mcp_resource_templates_list'],
  ['resources/subscribe', 'mcp_resource_subscribe'],
  ['resources/unsubscribe', 'mcp_resource_unsubscribe'],
  ['subscriptions/listen', 'mcp_subscriptions_listen'],
  ['tasks/get', 'mcp_task_get'],
  ['tasks/update', 'mcp_task_update'],
  ['tasks/cancel', 'mcp_task_cancel'],
  ['notifications/roots/list_changed', 'mcp_roots_list_changed'],
  ['response', 'mcp_response'],
  ['GET', 'sse_connection'],
  ['DELETE', 'mcp_session_end'],
]);

/** The type of the event of a message with this method; undefined: the request could not be read. */
export const eventTypeOf = (method: string | undefined): AuditEventType => {
  const type = method === undefined ? undefined : TYPES.get(method);
  if (type) return type;
  return method?.startsWith('notifications/') === true ? 'mcp_notification' : 'mcp_request';
};
