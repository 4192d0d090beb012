import { audit } from './audit.ts';
import type { AuthServer, AuthServerDeps } from './auth-server/index.ts';
import { authServerRoutes } from './auth-server-routes.ts';
import { tokenRecipientsOf } from './config-slices.ts';
import type { Caller, RequestHead } from './call/index.ts';
import type { LiveCatalog } from './catalog/index.ts';
import type { Clock, ReadSecret } from './process/index.ts';
import { protectedResourceRoutes, type PublicRoutes, type SignIns } from './edge/index.ts';
import type { FetchPolicy, GuardedClient } from './http/index.ts';
import { type Gate, incomingAuth, type Machine, policyGate } from './gate/index.ts';
import { rateLimit } from './rate-limit.ts';
import type { Config, LiveConfig } from './config/index.ts';
import type { Log, Meter, Observers, RecordEvent } from './observe/index.ts';
import { type ConnectStrategy, connectStrategy } from './outgoing/index.ts';
import { optimizerTools } from './optimizer-tools.ts';
import type { OwnToolsByKind } from './own-tools.ts';
import { type UserRevocation, userRevocation } from './user-revocation.ts';
import type { AuthServerReport } from './status/index.ts';
import type { Store, StoreSettings } from './store/index.ts';
import { workflows, type Workflows } from './workflow/index.ts';

/**
 * The extension points of the runtime: a feature is one of these values, or a part of several; `assemble.ts` joins it
 * with the rest.
 */
export interface Features {
  readonly gate: Gate;
  /** The first one is outermost. */
  readonly observers: readonly Partial<Observers>[];
  readonly connectStrategy: ConnectStrategy;
  readonly ownTools: OwnToolsByKind;
  /** Routes beside MCP on the public listener. */
  readonly routes: (deps: RouteDeps) => readonly PublicRoutes[];
  /** Sign-ins of users at upstream providers; absent: there are none. */
  readonly signIns?: SignIns | undefined;
  /** The newest executions of composite tools, for who runs the server; absent: there are none. */
  readonly executions?: Workflows['executions'] | undefined;
  /** Resolves once nothing goes on of calls that are answered. Absent: nothing ever does. */
  readonly tasksIdle?: (() => Promise<void>) | undefined;
  /** Ends the access of users. Absent: users have none that could be ended. */
  readonly revocation?: UserRevocation | undefined;
  /** For what is no request of a client: an event of its own in the audit log. */
  readonly record?: RecordEvent | undefined;
  /** State of the authorization server, for `/status`; absent: there is none. */
  readonly authServerReport?: (() => AuthServerReport) | undefined;
  /** Runs before the server listens. Throws where it must not start. */
  readonly start?: (() => Promise<void>) | undefined;
  /** Resolves once the features can work: before, the server is not ready. */
  readonly ready?: Promise<void> | undefined;
}

/**
 * Makes all features at once, so that one thing can serve two extension points: an authorization server is used by the
 * gate and has routes.
 */
export type MakeFeatures = (deps: FeatureDeps) => Promise<Features>;

/** Dependencies of features; each uses what it needs. */
export interface FeatureDeps {
  /** The live configuration; with `onReload` a feature takes part in every change. */
  readonly config: LiveConfig;
  readonly clock: Clock;
  /** Milliseconds since some moment, for durations. */
  readonly steadyNow: () => number;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Log;
  /** Names this process among its replicas, from start to stop. */
  readonly replicaId: string;
  /** Counters, histograms and gauges of features (docs/telemetry.md "Metrics"). */
  readonly meter: Meter;
  readonly readSecret: ReadSecret;
  /** The bytes of a file, for secrets that are no text; undefined: there is no such file. */
  readonly readBytes: (path: string) => Promise<Buffer | undefined>;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
  readonly machine: Machine;
  /** Shared with other rooms: each uses a prefix of its own (`prefixed`). */
  readonly store: Store;
  /** Opens a store of its own, which the feature closes. The log calls it `what`. */
  readonly openStore: (settings: StoreSettings, what: string) => Store;
  /**
   * Makes an HTTP client under this policy, for everything that is no backend. It is closed with the runtime, or by the
   * feature when a newer configuration needs another one.
   */
  readonly fetchUnder: (policy: FetchPolicy, options?: FetchOptions) => GuardedClient;
  /**
   * Registers a function that closes what the feature has opened itself: called once no request is under way, and
   * before the store is closed.
   */
  readonly onStop: (close: () => Promise<void>) => void;
}

export interface FetchOptions {
  /**
   * File with the certificate authorities (PEM) to trust, in place of those of the system; read for every new
   * connection.
   */
  readonly caBundlePath?: string | undefined;
}

/** Dependencies of routes, known once the features are joined with the rest. */
export interface RouteDeps {
  /** Authenticates the caller of a request, as for MCP. Throws VmcpError. */
  readonly authenticate: (head: RequestHead) => Caller | Promise<Caller>;
  readonly offeredTo: LiveCatalog['offeredTo'];
}

/** The features that this version has. */
export const makeFeatures: MakeFeatures = async (deps) => {
  const recipients = deps.config.live(tokenRecipientsOf, (byProvider) => byProvider);
  const { observer, record } = audit(deps);
  const recipientsOf = (provider: string) => recipients().get(provider) ?? new Map();
  const server = await ownAuthServer({ ...deps, record, recipientsOf });
  const revocation = userRevocation({ ...deps, server, isShared: isShared(deps.config.current()) });
  const { isRevoked } = revocation;
  const { metadataAt, ...authentication } = incomingAuth({ ...deps, ownIssuer: server, isRevoked });
  const upstreamClaims = server?.upstreamClaims;
  const workflow = workflows(deps);
  return {
    gate: { ...policyGate({ ...deps, upstreamClaims }), ...rateLimit(deps), ...authentication },
    observers: [observer],
    connectStrategy,
    ownTools: { workflow, builtin: optimizerTools(deps) },
    executions: workflow.executions,
    tasksIdle: workflow.tasksIdle,
    routes: () => [protectedResourceRoutes(metadataAt), ...authServerRoutes(server)],
    signIns: server?.signIns,
    revocation,
    record,
    authServerReport: server?.report,
    start: server?.start,
    ready: Promise.all([server?.ready, revocation.isLoaded]).then(() => undefined),
  };
};

/** Loaded only where the configuration has one: the library costs time at the start, and memory. */
const ownAuthServer = async (deps: AuthServerDeps): Promise<AuthServer | undefined> => {
  if (deps.config.current().authServer === undefined) return undefined;
  const { authServer } = await import('./auth-server/index.ts');
  return authServer(deps);
};

/** Whether replicas share the store of the sessions. */
const isShared = ({ sessionStorage }: Config): boolean => sessionStorage?.provider === 'kvstore';
