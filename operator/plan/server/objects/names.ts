import type { KubeObject } from '../../../object.ts';
import type { Settings } from '../../settings.ts';
import { type Child, SERVICE_PORT, childOf, labelsOfChild, originOfChild } from '../../workload/child.ts';

/** docs/decisions.md "Names of children": what the children of a server are called and where it can be reached. */
export const MCP_PORT = 4483;
/** Port of `/healthz`, `/readyz`, `/metrics` and `/status` in the pod; on no Service. */
export const MANAGEMENT_PORT = 4484;
const MCP_PATH = '/mcp';

const AGGREGATOR = 'VirtualMCPServer';

/** Its pods, with the Service in front of them and their account. */
export const servedChild = (server: KubeObject): Child => {
  const child = childOf(server);
  return server.kind === AGGREGATOR ? { ...child, name: `vmcp-${server.metadata.name}` } : child;
};

/** Name of its Deployment, Service and ServiceAccount. */
export const childName = (server: KubeObject): string => servedChild(server).name;

/** Port of its Service; its pods listen on `MCP_PORT`, whatever their kind. */
export const servicePort = ({ kind }: KubeObject): number => (kind === AGGREGATOR ? MCP_PORT : SERVICE_PORT);

/** Distinguishes the runtime from a container that had the same labels before the runtime stood in front of it. */
const RUNTIME_LABEL = { 'vmcp.dev/runtime': 'true' };

/**
 * Labels of its pods, by which Services and policies know them. The selector of a Deployment cannot be changed, so
 * there the four alone count.
 */
export const podLabelsOf = (server: KubeObject): Readonly<Record<string, string>> => ({
  ...labelsOfChild(servedChild(server)),
  ...(server.kind === 'MCPServer' && RUNTIME_LABEL),
});

/** Origin of the server as its clients inside the cluster, or on this machine, see it. */
export const originOf = (server: KubeObject, settings: Settings): string => {
  const { ports = {} } = settings.local ?? {};
  const port = Object.hasOwn(ports, server.metadata.name) ? ports[server.metadata.name] : undefined;
  if (settings.local !== undefined) return `http://127.0.0.1:${port ?? MCP_PORT}`;
  return originOfChild(servedChild(server), settings, servicePort(server));
};

/** `status.url` of docs/resources.md "VirtualMCPServer" */
export const urlOf = (server: KubeObject, settings: Settings): string => `${originOf(server, settings)}${MCP_PATH}`;
