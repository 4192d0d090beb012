/**
 * 20 policies as a company has them: five read claims, two read arguments. Three of the former and one of the latter
 * concern the tool `echo`, all seven the tool `large`; the others other tools, backends, prompts and resources.
 */
export const policies: readonly string[] = [
  'permit(principal, action, resource) when { principal has claim_groups && principal.claim_groups.contains("staff") };',
  'forbid(principal, action, resource == Tool::"bench_large") unless { principal has claim_client_id && ["desktop", "cli", "ci"].contains(principal.claim_client_id) };',
  'forbid(principal, action, resource) when { principal has claim_suspended && principal.claim_suspended };',
  'forbid(principal, action, resource in Backend::"bench") unless { principal has claim_region && principal.claim_region like "eu-*" };',
  'permit(principal, action == Action::"call_tool", resource == Tool::"bench_large") when { principal has claim_level && principal.claim_level >= 7 };',
  'forbid(principal, action == Action::"call_tool", resource in Backend::"bench") when { context has arg_path && !(context.arg_path like "/srv/*") };',
  'forbid(principal, action == Action::"call_tool", resource == Tool::"bench_large") unless { context has arg_mode && ["append", "read"].contains(context.arg_mode) };',
  'permit(principal, action == Action::"get_prompt", resource);',
  'forbid(principal, action == Action::"get_prompt", resource == Prompt::"bench_admin");',
  'permit(principal, action == Action::"read_resource", resource) when { resource.uri like "file:///srv/*" };',
  'forbid(principal, action == Action::"read_resource", resource) when { resource.uri like "*/secrets/*" };',
  'permit(principal, action, resource in Backend::"archive");',
  'forbid(principal, action, resource in Backend::"billing");',
  'forbid(principal, action == Action::"call_tool", resource in Backend::"payroll");',
  'permit(principal, action, resource == Tool::"bench_tool_11");',
  'permit(principal, action, resource == Tool::"bench_tool_12");',
  'forbid(principal, action, resource == Tool::"bench_tool_13");',
  'forbid(principal, action, resource == Tool::"bench_tool_14");',
  'forbid(principal, action, resource == Tool::"bench_tool_15") when { resource has destructiveHint && resource.destructiveHint };',
  'permit(principal, action, resource == Tool::"bench_tool_16") when { resource has readOnlyHint && resource.readOnlyHint };',
];
