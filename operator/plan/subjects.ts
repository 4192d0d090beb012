/**
 * Kinds of references that are looked up, with the word that their conditions begin with; whatever else a schema may
 * name is marked there as not supported yet. A line here gives resolution, watches, fan-out and the condition of a
 * missing one.
 */
export const SUBJECTS = {
  MCPGroup: 'Group',
  MCPOIDCConfig: 'OIDCConfig',
  MCPTelemetryConfig: 'TelemetryConfig',
  MCPToolConfig: 'ToolConfig',
  VirtualMCPCompositeToolDefinition: 'CompositeTool',
  MCPExternalAuthConfig: 'ExternalAuthConfig',
  EmbeddingServer: 'EmbeddingServer',
  Secret: 'Secret',
  ConfigMap: 'ConfigMap',
} as const;

export type Subject = (typeof SUBJECTS)[keyof typeof SUBJECTS];
