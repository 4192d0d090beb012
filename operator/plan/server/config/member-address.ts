import { hasOwnClients, statusIn } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import { type Path, mcpServerSpec, pathOf, urlAt } from '../../mcp-server/spec.ts';
import type { Settings } from '../../settings.ts';
import { childOf } from '../../workload/child.ts';
import { urlOf } from '../objects/names.ts';

/** Where the Service of a member with pods of its own is; undefined where nothing answers. */
export const workloadUrl = (member: KubeObject, settings: Settings): string | undefined => {
  if (settings.local !== undefined) return undefined;
  return member.kind === 'MCPServer' ? urlAt(childOf(member), servedPath(member), settings) : urlOf(member, settings);
};

/**
 * Path at which an MCPServer of this cluster answers. Its status follows its pods, also while its newest spec is
 * refused; a server without status is not reconciled yet. A runtime in front speaks streamable HTTP, whatever its
 * container speaks.
 */
export const servedPath = (server: KubeObject): Path => {
  const { url } = statusIn('MCPServer', server);
  if (url !== undefined) return url.endsWith('/sse') ? '/sse' : '/mcp';
  const spec = mcpServerSpec(server);
  return hasOwnClients(spec) ? '/mcp' : pathOf(spec);
};
