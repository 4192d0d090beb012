import { usersOf } from '../kinds/referrers.ts';
import { type KubeObject, keyOf } from '../object.ts';
import { lookedUpReferences } from '../plan/references.ts';
import { ALLOW_DELETE } from '../validate/index.ts';
import { type AdmissionContext, getLive, isOurs, isTerminating } from './context.ts';
import { type Review, type Verdict, accepted, forbidden } from './review.ts';

/** docs/decisions.md "No finalizers": shared configuration, and never groups, entries or servers. */
export const GUARDED_KINDS = ['MCPExternalAuthConfig', 'MCPOIDCConfig', 'MCPTelemetryConfig', 'MCPToolConfig'] as const;

/**
 * Refuses to delete a shared configuration while another object refers to it. Referrers that are being deleted
 * themselves do not count, and a namespace that is being deleted is never held up.
 */
export const checkDeletion = async ({ operation, oldObject }: Review, cluster: AdmissionContext): Promise<Verdict> => {
  if (operation !== 'DELETE' || oldObject === undefined || !isGuarded(oldObject)) return accepted;
  const users = await liveUsers(oldObject, cluster);
  if (users.length === 0 || (await isNamespaceTerminating(oldObject, cluster))) return accepted;
  return { refusal: forbidden(inUse(oldObject, users)), warnings: [] };
};

const isGuarded = (object: KubeObject): boolean =>
  isOurs(object) &&
  (GUARDED_KINDS as readonly string[]).includes(object.kind) &&
  !isTerminating(object) &&
  object.metadata.annotations?.[ALLOW_DELETE] !== 'true';

/**
 * The referrers that still exist. A referrer that the watch knows is read from the API server before the deletion is
 * refused: `kubectl delete -f` deletes a server and what it names within milliseconds. Referrers are read one after
 * another until one is found; the rest is taken from the watch.
 */
const liveUsers = async (config: KubeObject, cluster: AdmissionContext): Promise<readonly KubeObject[]> => {
  const users = usersOf(cluster.source, keyOf(config), cluster.referrersOf);
  for (const [index, user] of users.slice(0, MAX_LIVE_READS).entries()) {
    const stored = await getLive(keyOf(user), user, cluster);
    if (stored === user || (stored !== undefined && isUserOf(stored, config))) return users.slice(index);
  }
  return users.slice(MAX_LIVE_READS);
};

/** Referrers that are read live at most; the watch reports the deletion of further ones soon enough. */
const MAX_LIVE_READS = 100;

const isUserOf = (user: KubeObject, { kind, metadata: { name } }: KubeObject): boolean =>
  !isTerminating(user) && lookedUpReferences(user).some((each) => each.kind === kind && each.name === name);

const isNamespaceTerminating = async (
  { metadata: { namespace = '' } }: KubeObject,
  { get }: AdmissionContext,
): Promise<boolean> => {
  const found = await get({ kind: 'Namespace', namespace: '', name: namespace });
  return found === undefined || isTerminating(found);
};

/** Names kinds only: the caller may not be allowed to read the referrers. The object's own status names them. */
const inUse = ({ kind, metadata: { name } }: KubeObject, users: readonly KubeObject[]): string => {
  const kinds = [...new Set(users.map((user) => user.kind))].join(', ');
  return `${kind} ${name} is in use (${kinds}); delete what its status.referencingWorkloads names first, or let that name another one, or annotate ${name} with ${ALLOW_DELETE}=true`;
};
