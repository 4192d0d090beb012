import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { type Child, originOfChild } from '../workload/child.ts';
import type { Variable } from '../workload/pod.ts';
import { type McpServerSpec, transportOf } from './spec.ts';

/** Does the container speak over its standard input and output? */
export const isBridged = (spec: McpServerSpec): boolean => transportOf(spec) === 'stdio';

/** Servers of HTTP+SSE answer at `/sse` by convention. */
export type Path = '/mcp' | '/sse';

/** Where the container answers. */
export const pathOf = (spec: McpServerSpec): Path => (transportOf(spec) === 'sse' ? '/sse' : '/mcp');

export const urlAt = (child: Child, path: Path, settings: Settings): string =>
  `${originOfChild(child, settings)}${path}`;

/** The name of its container. */
export const CONTAINER = 'mcp';

/** By this variable the container is told how it is spoken to. */
export const TRANSPORT = 'MCP_TRANSPORT';

const PATHS: ReadonlyMap<string | undefined, Path> = new Map([
  ['stdio', '/mcp'],
  ['streamable-http', '/mcp'],
  ['sse', '/sse'],
]);

/**
 * Where pods of this Deployment or StatefulSet answer, also while a newer spec says otherwise: as their container is told. Where there is none
 * yet, or the user has another word for it, as `spec` says.
 */
export const pathServed = (controller: KubeObject | undefined, spec: McpServerSpec): Path => {
  if (controller === undefined) return pathOf(spec);
  const told = variablesIn(controller).find(({ name }) => name === TRANSPORT);
  // The runtime that stands in front speaks streamable HTTP.
  return told === undefined ? '/mcp' : (PATHS.get(told.value) ?? pathOf(spec));
};

const variablesIn = ({ spec }: KubeObject): readonly Variable[] => {
  const { template } = (spec ?? {}) as { readonly template?: { readonly spec?: { readonly containers?: Containers } } };
  return template?.spec?.containers?.find(({ name }) => name === CONTAINER)?.env ?? [];
};

type Containers = readonly { readonly name: string; readonly env?: readonly Variable[] }[];
