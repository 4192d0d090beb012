import { usersOf } from '../kinds/referrers.ts';
import { type KubeObject, keyOf } from '../object.ts';
import { lookedUpReferences } from '../plan/references.ts';
import { ALLOW_DELETE } from '../validate/index.ts';
import { type Cluster, isOnItsWayOut, isOurs } from './cluster.ts';
import { type Review, type Verdict, accepted, forbidden } from './review.ts';
import { storedNow } from './stored-now.ts';

/** docs/decisions.md "No finalizers": shared configuration, and never groups, entries or servers. */
export const GUARDED_KINDS = ['MCPExternalAuthConfig', 'MCPOIDCConfig', 'MCPTelemetryConfig', 'MCPToolConfig'] as const;

/**
 * May it be deleted? Not while somebody uses it who stays: neither users that are being deleted nor a whole namespace
 * on its way out are held up.
 */
export const checkDeletion = async ({ operation, oldObject }: Review, cluster: Cluster): Promise<Verdict> => {
  if (operation !== 'DELETE' || oldObject === undefined || !isGuarded(oldObject)) return accepted;
  const users = await usersNow(oldObject, cluster);
  if (users.length === 0 || (await isNamespaceEnding(oldObject, cluster))) return accepted;
  return { refusal: forbidden(inUse(oldObject, users)), warnings: [] };
};

const isGuarded = (object: KubeObject): boolean =>
  isOurs(object) &&
  (GUARDED_KINDS as readonly string[]).includes(object.kind) &&
  !isOnItsWayOut(object) &&
  object.metadata.annotations?.[ALLOW_DELETE] !== 'true';

/**
 * Whoever the watch knows as a user is asked for again before anything is refused: `kubectl delete -f` deletes a server
 * and what it names within milliseconds. They are asked for one after another until one is found; of the others the
 * watch tells.
 */
const usersNow = async (config: KubeObject, cluster: Cluster): Promise<readonly KubeObject[]> => {
  const users = usersOf(cluster.source, keyOf(config), cluster.referrersOf);
  for (const [index, user] of users.slice(0, MOST_ASKED_FOR).entries()) {
    const stored = await storedNow(keyOf(user), user, cluster);
    if (stored === user || (stored !== undefined && isUserOf(stored, config))) return users.slice(index);
  }
  return users.slice(MOST_ASKED_FOR);
};

/** Of more than so many that ended within a moment the watch will tell. */
const MOST_ASKED_FOR = 100;

const isUserOf = (user: KubeObject, { kind, metadata: { name } }: KubeObject): boolean =>
  !isOnItsWayOut(user) && lookedUpReferences(user).some((each) => each.kind === kind && each.name === name);

const isNamespaceEnding = async ({ metadata: { namespace = '' } }: KubeObject, { get }: Cluster): Promise<boolean> => {
  const found = await get({ kind: 'Namespace', namespace: '', name: namespace });
  return found === undefined || isOnItsWayOut(found);
};

/** Whoever may delete it may not be allowed to read those who use it; its own status names them. */
const inUse = ({ kind, metadata: { name } }: KubeObject, users: readonly KubeObject[]): string => {
  const kinds = [...new Set(users.map((user) => user.kind))].join(', ');
  return `${kind} ${name} is in use (${kinds}); delete what its status.referencingWorkloads names first, or let that name another one, or annotate ${name} with ${ALLOW_DELETE}=true`;
};
