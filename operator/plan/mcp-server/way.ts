import type { KubeObject } from '../../object.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { childOf, originOfChild } from '../workload/child.ts';
import { type McpServerSpec, mcpServerSpec, transportOf } from './spec.ts';

/** Fields that concern the clients of the server itself: with any of them the vmcp runtime stands in front (decisions). */
const OF_ITS_CLIENTS = ['oidcConfigRef', 'authzConfig', 'rateLimiting', 'authServerRef'] as const;

/** Does the vmcp runtime stand in front of the container? */
export const isFronted = (spec: McpServerSpec): boolean => OF_ITS_CLIENTS.some((field) => spec[field] !== undefined);

/** Does the container speak over its standard input and output? */
export const isBridged = (spec: McpServerSpec): boolean => transportOf(spec) === 'stdio';

/** What stands between clients and the container, and cannot be made yet; one text for each, with the remedy. */
export const notRunYet = (spec: McpServerSpec): readonly string[] =>
  isBridged(spec) && isFronted(spec)
    ? [
        'spec.transport: not supported yet: servers of transport stdio with the vmcp runtime in front; set streamable-http or sse, and an image that speaks it, or let a VirtualMCPServer check its clients',
      ]
    : [];

/**
 * spec: status.url. Where clients reach it; undefined where nothing answers. The container of `sse` is spoken to directly, and servers of
 * HTTP+SSE answer at `/sse` by convention.
 */
export const mcpServerUrl = (server: KubeObject, settings: Settings): string | undefined => {
  if (settings.local !== undefined) return mappedUrl(settings, server.metadata.name);
  const spec = mcpServerSpec(server);
  if (notRunYet(spec).length > 0) return undefined;
  const isSse = transportOf(spec) === 'sse' && !isFronted(spec);
  return `${originOfChild(childOf(server), settings)}${isSse ? '/sse' : '/mcp'}`;
};
