import { hasOwnClients } from '../../../crds/index.ts';
import type { KubeObject } from '../../object.ts';
import { mcpServerSpec } from '../mcp-server/spec.ts';
import { type Path, pathOf, urlAt } from '../mcp-server/way.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { childOf } from '../workload/child.ts';
import { urlOf } from './names.ts';
import { type WrittenSpec, writtenSpec } from './spec.ts';

/** Where the Service of a member with pods of its own is; undefined where nothing answers. */
export const workloadUrl = (member: KubeObject, settings: Settings): string | undefined => {
  if (settings.local !== undefined) return undefined;
  return member.kind === 'MCPServer' ? urlAt(childOf(member), servedPath(member), settings) : urlOf(member, settings);
};

/**
 * Where an MCPServer of this cluster answers. Its status follows what runs, also while its newest spec is refused; nobody has looked at one
 * without. The runtime in front speaks streamable HTTP, whatever is behind it.
 */
export const servedPath = (server: KubeObject): Path => {
  const { url } = (server['status'] ?? {}) as { readonly url?: string };
  if (url !== undefined) return url.endsWith('/sse') ? '/sse' : '/mcp';
  const spec = mcpServerSpec(server);
  return hasOwnClients(spec) ? '/mcp' : pathOf(spec);
};

/**
 * Fields of a member that its own pods act on, and whoever contacts them need not. A proxy authenticates to the remote server itself: its
 * credential is not for whoever listens at its Service. On a laptop a mapping leads past the proxy, so there its part has to be played.
 */
const isOfItsPods = (field: string, member: KubeObject, settings: Settings): boolean =>
  member.kind !== 'MCPServerEntry' &&
  (FIELDS_OF_PODS.has(field) ||
    (member.kind === 'MCPRemoteProxy' &&
      FIELDS_OF_PROXY.has(field) &&
      mappedUrl(settings, member.metadata.name) === undefined));

const FIELDS_OF_PODS: ReadonlySet<string> = new Set([
  'authServerRef',
  'authzConfig',
  'oidcConfigRef',
  'podTemplateSpec',
  'rateLimiting',
  'replicas',
  'resources',
  'sessionStorage',
]);

const FIELDS_OF_PROXY: ReadonlySet<string> = new Set([
  'externalAuthConfigRef',
  'headerForward',
  'remoteUrl',
  'transport',
]);

/** The fields of an object that its own pods act on: how it is authenticated to concerns whoever contacts an MCPServer, and not the server. */
export const ownFields = ({ kind }: KubeObject, written: WrittenSpec): WrittenSpec => {
  const { externalAuthConfigRef: _ofOthers, ...own } = written;
  return kind === 'MCPServer' ? own : written;
};

/** The fields of a member that whoever contacts it acts on. */
export const contactFields = (member: KubeObject, settings: Settings): WrittenSpec =>
  Object.fromEntries(Object.entries(writtenSpec(member)).filter(([field]) => !isOfItsPods(field, member, settings)));
