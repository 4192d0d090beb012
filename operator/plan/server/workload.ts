import type { KubeObject } from '../../object.ts';
import { mcpServerUrl } from '../mcp-server/way.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { urlOf } from './names.ts';
import { type WrittenSpec, writtenSpec } from './spec.ts';

/** Where the Service of a member with pods of its own is; undefined where nothing answers. */
export const workloadUrl = (member: KubeObject, settings: Settings): string | undefined => {
  if (settings.local !== undefined) return undefined;
  return member.kind === 'MCPServer' ? mcpServerUrl(member, settings) : urlOf(member, settings);
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
