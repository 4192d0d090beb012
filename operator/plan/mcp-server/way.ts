import { hasOwnClients } from '../../../crds/index.ts';
import type { KubeObject } from '../../object.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { childOf, originOfChild } from '../workload/child.ts';
import { type McpServerSpec, mcpServerSpec, transportOf } from './spec.ts';

/** Does the container speak over its standard input and output? */
export const isBridged = (spec: McpServerSpec): boolean => transportOf(spec) === 'stdio';

/**
 * spec: status.url. Where clients reach it; undefined where nothing answers. The container of `sse` is spoken to directly, and servers of
 * HTTP+SSE answer at `/sse` by convention.
 */
export const mcpServerUrl = (server: KubeObject, settings: Settings): string | undefined => {
  if (settings.local !== undefined) return mappedUrl(settings, server.metadata.name);
  const spec = mcpServerSpec(server);
  const isSse = transportOf(spec) === 'sse' && !hasOwnClients(spec);
  return `${originOfChild(childOf(server), settings)}${isSse ? '/sse' : '/mcp'}`;
};
