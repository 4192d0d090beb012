import { proven } from './rule.ts';

export const errors = {
  'errors.primary-upstream-unknown.rejected': proven('A VirtualMCPServer whose `authzConfig.inline.primaryUpstreamProvider` names no entry of `authServerConfig.upstreamProviders` is rejected.'),
  'errors.primary-upstream-unknown.condition': proven('In that case condition `AuthServerConfigValidated` is `False`.'),
  'errors.primary-upstream-ignored.mcpserver': proven('`primaryUpstreamProvider` set on an MCPServer gives the advisory condition `AuthzPrimaryUpstreamProviderIgnored`.'),
  'errors.primary-upstream-ignored.mcpremoteproxy': proven('`primaryUpstreamProvider` set on an MCPRemoteProxy gives the advisory condition `AuthzPrimaryUpstreamProviderIgnored`.'),
  'errors.reference-missing.oidc-config': proven('A missing MCPOIDCConfig makes the reference unresolvable, which is reported as an error.'),
  'errors.reference-missing.telemetry-config': proven('A missing MCPTelemetryConfig makes the reference unresolvable, which is reported as an error.'),
  'errors.reference-missing.tool-config': proven('A missing MCPToolConfig named by `toolConfigRef` makes the reference unresolvable, which is reported as an error.'),
};
