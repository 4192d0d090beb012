import { type KubeObject, keyOf } from '../object.ts';
import { lookedUpReferences } from '../plan/references.ts';
import { usersOf } from '../kinds/users.ts';
import { ALLOW_DELETE } from '../validate/index.ts';
import { type Cluster, isOnItsWayOut, isOurs } from './cluster.ts';
import { type Review, type Verdict, accepted, forbidden } from './review.ts';

/** Decisions "No finalizers": shared configuration, and never groups, entries or servers. */
export const GUARDED_KINDS = ['MCPExternalAuthConfig', 'MCPOIDCConfig', 'MCPTelemetryConfig', 'MCPToolConfig'] as const;

/**
 * May it be deleted? Not while somebody uses it who stays: neither users that are being deleted nor a whole namespace on its
 * way out are held up.
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
 * Whoever the watch knows as a user is asked for again before anything is refused: `kubectl delete -f` deletes a server and
 * what it names within milliseconds. Only as many are asked for as it takes to find one.
 */
const usersNow = async (config: KubeObject, { source, referrersOf, get }: Cluster): Promise<readonly KubeObject[]> => {
  const users = usersOf(source, keyOf(config), referrersOf);
  const known = users.slice(0, MOST_ASKED_FOR).map(keyOf);
  for (let from = 0; from < known.length; from += AT_ONCE) {
    const stored = await Promise.all(known.slice(from, from + AT_ONCE).map((key) => get(key)));
    const still = stored.flatMap((user) => (user !== undefined && isUserOf(user, config) ? [user] : []));
    if (still.length > 0) return still;
  }
  return users.slice(MOST_ASKED_FOR);
};

/** Of more than so many that ended within a moment the watch will tell. */
const MOST_ASKED_FOR = 100;

const AT_ONCE = 10;

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
