import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { SERVICE_PORT, childOf, labelsOfChild } from '../workload/child.ts';

/** Decisions "Names": what the children of a server are called and where it can be reached. */
export const MCP_PORT = 4483;
export const MANAGEMENT_PORT = 4484;
const MCP_PATH = '/mcp';

/** Name of its Deployment, Service and ServiceAccount. */
export const childName = (server: KubeObject): string =>
  server.kind === AGGREGATOR ? `vmcp-${server.metadata.name}` : childOf(server).name;

const AGGREGATOR = 'VirtualMCPServer';

/** Port of its Service; its pods listen on `MCP_PORT`, whatever their kind. */
export const servicePort = ({ kind }: KubeObject): number => (kind === AGGREGATOR ? MCP_PORT : SERVICE_PORT);

/** Labels of every child, and all four together the selector of pods. */
export const labelsOf = (server: KubeObject): Readonly<Record<string, string>> =>
  labelsOfChild({ owner: server, component: server.kind.toLowerCase() });

/** Tells the runtime from the container that had the same labels, and Deployment, before it got a runtime in front. */
const RUNTIME_LABEL = { 'vmcp.dev/runtime': 'true' };

/**
 * Labels of its pods, by which Services and policies know them. The selector of a Deployment cannot be changed, so there the four alone
 * count.
 */
export const podLabelsOf = (server: KubeObject): Readonly<Record<string, string>> => ({
  ...labelsOf(server),
  ...(server.kind === 'MCPServer' && RUNTIME_LABEL),
});

/** Every name the Service answers to inside the cluster, shortest first. */
export const serviceHosts = (server: KubeObject, settings: Settings): readonly string[] => {
  const short = childName(server);
  const qualified = `${short}.${server.metadata.namespace ?? 'default'}`;
  return [short, qualified, `${qualified}.svc`, `${qualified}.svc.${settings.clusterDomain}`];
};

/** Origin of the server as its clients inside the cluster, or on this machine, see it. */
export const originOf = (server: KubeObject, settings: Settings): string => {
  const { ports = {} } = settings.local ?? {};
  const port = Object.hasOwn(ports, server.metadata.name) ? ports[server.metadata.name] : undefined;
  if (settings.local !== undefined) return `http://127.0.0.1:${port ?? MCP_PORT}`;
  return `http://${serviceHosts(server, settings).at(-1)}:${servicePort(server)}`;
};

/** spec: status.url */
export const urlOf = (server: KubeObject, settings: Settings): string => `${originOf(server, settings)}${MCP_PATH}`;
