import { type FieldsOf, fieldsOf } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import { type Settings, mappedUrl } from '../../settings.ts';

/** `spec` of a member of a group, of whichever kind. */
export type MemberSpec = FieldsOf<'MCPServer' | 'MCPRemoteProxy' | 'MCPServerEntry'>;

export const memberSpec = (member: KubeObject): MemberSpec =>
  fieldsOf(['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'], member);

/**
 * Whether a field concerns only the member's own pods, and not the runtime that contacts them. A proxy authenticates to
 * the remote server itself: its credential is not for the clients of its Service. On a laptop a mapping leads past the
 * proxy, so there the runtime acts on these fields.
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

/** The fields of a member that the runtime which contacts it acts on. */
export const contactFields = (member: KubeObject, settings: Settings): MemberSpec =>
  Object.fromEntries(Object.entries(memberSpec(member)).filter(([field]) => !isOfItsPods(field, member, settings)));
