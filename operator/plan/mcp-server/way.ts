import { hasOwnClients } from '../../../crds/index.ts';
import type { KubeObject } from '../../object.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { type Child, childOf, originOfChild } from '../workload/child.ts';
import { type McpServerSpec, mcpServerSpec, transportOf } from './spec.ts';

/** Does the container speak over its standard input and output? */
export const isBridged = (spec: McpServerSpec): boolean => transportOf(spec) === 'stdio';

/** Where a server that runs as `child` answers; those of HTTP+SSE do at `/sse` by convention. */
export const pathedUrl = (child: Child, isSse: boolean, settings: Settings): string =>
  `${originOfChild(child, settings)}${isSse ? '/sse' : '/mcp'}`;

/**
 * spec: status.url. Where clients reach it; undefined where nothing answers. The container of `sse` is spoken to directly.
 */
export const mcpServerUrl = (server: KubeObject, settings: Settings): string | undefined => {
  if (settings.local !== undefined) return mappedUrl(settings, server.metadata.name);
  const spec = mcpServerSpec(server);
  const isSse = transportOf(spec) === 'sse' && !hasOwnClients(spec);
  return pathedUrl(childOf(server), isSse, settings);
};
