import { type SpecOf, specOf } from '../../../crds/index.ts';
import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { type Child, originOfChild } from '../workload/child.ts';
import { podsOf } from '../workload/running-workload.ts';

export type McpServerSpec = SpecOf<'MCPServer'>;

/** How its container speaks. */
export type Transport = NonNullable<McpServerSpec['transport']>;

/** The spec, with the defaults of the schema. */
export const mcpServerSpec = (server: KubeObject): McpServerSpec => specOf('MCPServer', server);

/** The schema's default is `stdio`. */
export const transportOf = ({ transport }: McpServerSpec): Transport => transport ?? 'stdio';

/** Does the container speak over its standard input and output? */
export const isBridged = (spec: McpServerSpec): boolean => transportOf(spec) === 'stdio';

/** Path of the MCP endpoint of a container. */
export type Path = '/mcp' | '/sse';

/** Servers of HTTP+SSE answer at `/sse` by convention. */
const PATHS: Readonly<Record<Transport, Path>> = { stdio: '/mcp', 'streamable-http': '/mcp', sse: '/sse' };

/** Where the container answers. */
export const pathOf = (spec: McpServerSpec): Path => PATHS[transportOf(spec)];

/** URL at the Service of the child. */
export const urlAt = (child: Child, path: Path, settings: Settings): string =>
  `${originOfChild(child, settings)}${path}`;

/** The name of its container. */
export const CONTAINER = 'mcp';

/** Environment variable that names the transport to the container. */
export const TRANSPORT = 'MCP_TRANSPORT';

/**
 * Where pods of this Deployment or StatefulSet answer, also while a newer spec says otherwise: as their container is
 * told. Where there is none yet, or the user has another word for it, as `spec` says.
 */
export const pathServed = (controller: KubeObject | undefined, spec: McpServerSpec): Path => {
  if (controller === undefined) return pathOf(spec);
  const container = podsOf(controller).spec.containers?.find(({ name }) => name === CONTAINER);
  const told = container?.env?.find(({ name }) => name === TRANSPORT);
  // The runtime that stands in front speaks streamable HTTP.
  if (told === undefined) return '/mcp';
  return isTransport(told.value) ? PATHS[told.value] : pathOf(spec);
};

const isTransport = (value = ''): value is Transport => Object.hasOwn(PATHS, value);
