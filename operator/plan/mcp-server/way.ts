import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { type Child, originOfChild } from '../workload/child.ts';
import { type McpServerSpec, transportOf } from './spec.ts';

/** Does the container speak over its standard input and output? */
export const isBridged = (spec: McpServerSpec): boolean => transportOf(spec) === 'stdio';

/** Servers of HTTP+SSE answer at `/sse` by convention. */
export type Path = '/mcp' | '/sse';

/** Where the container answers. */
export const pathOf = (spec: McpServerSpec): Path => (transportOf(spec) === 'sse' ? '/sse' : '/mcp');

export const urlAt = (child: Child, path: Path, settings: Settings): string =>
  `${originOfChild(child, settings)}${path}`;

/** Of a Deployment whose pods answer elsewhere than at `/mcp`: where. */
const PATH = 'vmcp.dev/path';

/** The Deployment of its container, which tells where it answers also while a newer spec says otherwise. */
export const pathNoted = (deployment: KubeObject, spec: McpServerSpec): KubeObject => {
  const path = pathOf(spec);
  if (path === '/mcp') return deployment;
  return { ...deployment, metadata: { ...deployment.metadata, annotations: { [PATH]: path } } };
};

/** Where pods of this Deployment or StatefulSet answer; where there is none yet, they will as `spec` says. */
export const pathServed = (controller: KubeObject | undefined, spec: McpServerSpec): Path => {
  if (controller === undefined) return pathOf(spec);
  return controller.metadata.annotations?.[PATH] === '/sse' ? '/sse' : '/mcp';
};
