import { type KubeObject, keyOf } from '../object.ts';
import { lookedUpReferences } from '../plan/references.ts';
import { usersOf } from '../kinds/users.ts';
import { type Cluster, isOnItsWayOut, isOurs } from './cluster.ts';
import { type Review, type Verdict, accepted, forbidden } from './review.ts';

/** Decisions "No finalizers": shared configuration, and never groups, entries or servers. */
export const GUARDED_KINDS = ['MCPExternalAuthConfig', 'MCPOIDCConfig', 'MCPTelemetryConfig', 'MCPToolConfig'] as const;

/** On the object to be deleted: its users are known, and it goes all the same. */
const ALLOW_DELETE = 'vmcp.dev/allow-delete';

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
 * what it names within milliseconds. Only as many are asked for as it takes to find one, and as a message has room for.
 */
const usersNow = async (config: KubeObject, { source, referrersOf, get }: Cluster): Promise<readonly string[]> => {
  const known = usersOf(source, keyOf(config), referrersOf).map(keyOf);
  for (let from = 0; from < known.length; from += NAMED) {
    const stored = await Promise.all(known.slice(from, from + NAMED).map((key) => get(key)));
    const users = stored.flatMap((user) => (user !== undefined && isUserOf(user, config) ? [user] : []));
    const names = users.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const unasked = known.length - from - NAMED;
    if (names.length > 0) return unasked > 0 ? [...names, `${unasked} more`] : names;
  }
  return [];
};

const NAMED = 10;

const isUserOf = (user: KubeObject, { kind, metadata: { name } }: KubeObject): boolean =>
  !isOnItsWayOut(user) && lookedUpReferences(user).some((each) => each.kind === kind && each.name === name);

const isNamespaceEnding = async ({ metadata: { namespace = '' } }: KubeObject, { get }: Cluster): Promise<boolean> => {
  const found = await get({ kind: 'Namespace', namespace: '', name: namespace });
  return found === undefined || isOnItsWayOut(found);
};

const inUse = ({ kind, metadata: { name } }: KubeObject, users: readonly string[]): string =>
  `${kind} ${name} is used by ${users.join(', ')}; delete these first or let them name another one, or annotate ${name} with ${ALLOW_DELETE}=true`;
