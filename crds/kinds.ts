import type { KindDefinition } from './kind.ts';
import { virtualMcpCompositeToolDefinition } from './composite-tool-definition.ts';
import { embeddingServer } from './embedding-server.ts';
import { mcpExternalAuthConfig } from './mcp-external-auth-config.ts';
import { mcpGroup } from './mcp-group.ts';
import { mcpOidcConfig } from './mcp-oidc-config.ts';
import { mcpRemoteProxy } from './mcp-remote-proxy.ts';
import { mcpServer } from './mcp-server.ts';
import { mcpServerEntry } from './mcp-server-entry.ts';
import { mcpTelemetryConfig } from './mcp-telemetry-config.ts';
import { mcpToolConfig } from './mcp-tool-config.ts';
import { virtualMcpServer } from './virtual-mcp-server.ts';

/** All kinds by name, in alphabetical order. */
export const kinds = {
  EmbeddingServer: embeddingServer,
  MCPExternalAuthConfig: mcpExternalAuthConfig,
  MCPGroup: mcpGroup,
  MCPOIDCConfig: mcpOidcConfig,
  MCPRemoteProxy: mcpRemoteProxy,
  MCPServer: mcpServer,
  MCPServerEntry: mcpServerEntry,
  MCPTelemetryConfig: mcpTelemetryConfig,
  MCPToolConfig: mcpToolConfig,
  VirtualMCPCompositeToolDefinition: virtualMcpCompositeToolDefinition,
  VirtualMCPServer: virtualMcpServer,
} satisfies Readonly<Record<string, KindDefinition>>;
