import type { JWK } from 'jose';
import type { User } from '../call/index.ts';
import { InvalidConfigError, type LiveConfig } from '../config/index.ts';
import { fetchPolicies, type FetchPolicy, type GuardedClient } from '../http/index.ts';
import type { Log, Meter, RecordEvent } from '../observe/index.ts';
import type { Clock, ReadSecret } from '../process/index.ts';
import { prefixed, type Store, type StoreSettings } from '../store/index.ts';
import { type KeyFiles, type Keys, keysOf } from './keys/keys.ts';
import type { ReadBytes } from './keys/secrets.ts';
import { lasting } from './lasting.ts';
import { refreshRecord, stepRecord } from './record/steps.ts';
import { requestBudgets } from './request-budgets.ts';
import type { Route } from './routes.ts';
import { served } from './served.ts';
import { authServerSettingsOf, authStoreSettingsOf, boundTo } from './settings.ts';
import { signInEvents } from './sign-in/sign-in-events.ts';
import { type SignIns, signIns } from './sign-in/sign-ins.ts';
import { userPorts } from './vault/user-ports.ts';
import { type Users, usersOf } from './users.ts';
import { tokenVault } from './vault/vault.ts';
import { troubles } from './troubles.ts';
import type { AuthServerReport } from '../status/index.ts';

export interface AuthServerDeps {
  readonly config: Pick<LiveConfig, 'live' | 'current'>;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
  readonly log: Log;
  readonly readSecret: ReadSecret;
  readonly readBytes: ReadBytes;
  readonly fetchUnder: (policy: FetchPolicy) => GuardedClient;
  /** Opens a store of its own for `what`. */
  readonly openStore: (settings: StoreSettings, what: string) => Store;
  readonly meter: Meter;
  /** For the audit log. */
  readonly record: RecordEvent;
  readonly onStop: (close: () => Promise<void>) => void;
  /** The backends whose requests carry tokens of this provider, with the origins that these are sent to. */
  readonly recipientsOf: (provider: string) => ReadonlyMap<string, readonly string[]>;
}

type Subject = Pick<User, 'issuer' | 'subject'>;

/** The embedded authorization server, as the rest of the runtime sees it. */
export interface AuthServer {
  readonly issuer: string;
  /** Its public keys. Throws VmcpError while there are none. */
  readonly publicKeys: () => Promise<readonly JWK[]>;
  /** Calls `listener` when other keys are in force; returns the function that ends it. */
  readonly onKeysChanged: (listener: () => void) => () => void;
  readonly users: Pick<Users, 'isLoaded' | 'isRevoked' | 'revoke' | 'onRevoked'>;
  readonly upstreamTokenOf: (user: Subject) => User['upstreamToken'];
  readonly upstreamClaims: (user: Subject, provider: string) => Promise<Readonly<Record<string, unknown>> | undefined>;
  readonly signIns: SignIns;
  /** Those of the moment; their paths stay as long as the server runs, but for those of single providers. */
  readonly routes: () => readonly Route[];
  /** Resolves once its store has answered for the first time. */
  readonly ready: Promise<void>;
  readonly report: () => AuthServerReport;
  /** Throws InvalidConfigError where the server must not start. */
  readonly start: () => Promise<void>;
}

/** Undefined: the configuration has none. Presence, issuer and store cannot change while the runtime runs. */
export const authServer = (deps: AuthServerDeps): AuthServer | undefined => {
  const { config, log } = deps;
  const first = authServerSettingsOf(config.current());
  if (!first) return undefined;
  const storeSettings = authStoreSettingsOf(config.current());
  const store = deps.openStore(storeSettings, 'the store of the authorization server');
  const isShared = storeSettings.kind !== 'memory';
  const files = config.live(
    (newer) => (authServerSettingsOf(newer) ?? first).keyFiles,
    (keyFiles) => keyFiles,
  );
  const trouble = troubles({ ...deps, store });
  const keys = keysOf(files, { ...deps, store, isShared, boundTo: () => first.issuer, onTrouble: trouble.tell });
  const record = stepRecord({ ...deps, issuer: first.issuer });
  const vault = tokenVault({
    ...deps,
    store: prefixed(store, 'vault:'),
    secrets: keys.secrets,
    boundTo: config.live((newer) => authServerSettingsOf(newer) ?? first, boundTo),
    upstream: (provider) => current().upstreams.get(provider),
    onRefresh: refreshRecord(deps.meter, record),
    lifeMs: first.lifespans.refreshMs,
  });
  const users = usersOf({ ...deps, store, isShared, vault, accessMs: first.lifespans.accessMs });
  const events = signInEvents(prefixed(store, 'sign-in-events:'), log);
  const owners = deps.fetchUnder(fetchPolicies.token);
  const strangers = deps.fetchUnder(fetchPolicies.stranger);
  const clientsInUse = deps.fetchUnder(fetchPolicies.stranger);
  const budgets = requestBudgets(deps.clock);
  const lasts = lasting({ ...deps, issuer: first.issuer, store, keys, owners, strangers, clientsInUse, budgets });
  const current = config.live(
    (newer) => authServerSettingsOf(newer) ?? first,
    (settings) =>
      served(settings, { ...deps, store, keys, vault, users, signInEvents: events, record, lasting: lasts, budgets }),
  );
  deps.onStop(async () => {
    lasts.reach.close();
    events.close();
    users.close();
    keys.close();
    await vault.close();
    await store.close();
  });
  return {
    issuer: first.issuer,
    publicKeys: keys.published,
    onKeysChanged: keys.onChanged,
    users,
    ...userPorts(vault, first.issuer),
    signIns: signIns({ issuer: first.issuer, signInEvents: events, current, vault, entropy: deps.entropy }),
    routes: () => current().routes,
    ready: store.firstAnswer,
    report: trouble.report,
    start: () => startWith(keys, files(), { log, isShared }),
  };
};

const startWith = async (
  keys: Keys,
  files: KeyFiles,
  { log, isShared }: { readonly log: Pick<Log, 'warn'>; readonly isShared: boolean },
): Promise<void> => {
  const problem = await keys.problem();
  if (problem !== undefined) throw new InvalidConfigError([`authServer: ${problem}`]);
  // Keys that are shared may be in a store that is away: nothing waits for them.
  void keys.watch();
  const made = [files.signing.length === 0 && 'signing key', files.hmac.length === 0 && 'HMAC secret'];
  const names = made.filter((each) => each !== false);
  if (names.length > 0) log.warn({ made: names, isShared, isSealed: files.hmac.length > 0 }, MADE);
};

const MADE =
  'the authorization server has made keys that end with this process, or with the last of the replicas that share its ' +
  'store: name signing keys and HMAC secrets, or every user has to sign in again after a restart';
