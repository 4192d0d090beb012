import { audit } from './audit.ts';
import type { Caller, RequestHead } from './call/index.ts';
import type { LiveCatalog } from './catalog/index.ts';
import type { Clock, ReadSecret } from './process/index.ts';
import { protectedResourceRoutes, type PublicRoutes } from './edge/index.ts';
import type { FetchPolicy, GuardedClient } from './http/index.ts';
import { type Gate, incomingAuth, type Machine, policyGate } from './gate/index.ts';
import { rateLimit } from './rate-limit.ts';
import type { LiveConfig } from './config/index.ts';
import type { Log, Meter, Observers } from './observe/index.ts';
import { type ConnectStrategy, connectStrategy } from './outgoing/index.ts';
import type { OwnToolsByKind } from './own-tools.ts';
import type { Store } from './store/index.ts';

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
}

/**
 * Makes all features at once, so that one thing can serve two extension points: an authorization server is used by the
 * gate and has routes.
 */
export type MakeFeatures = (deps: FeatureDeps) => Features;

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
  readonly machine: Machine;
  /** Shared with other rooms: each uses a prefix of its own (`prefixed`). */
  readonly store: Store;
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
export const makeFeatures: MakeFeatures = (deps) => {
  const { metadataAt, ...authentication } = incomingAuth(deps);
  return {
    gate: { ...policyGate(deps), ...rateLimit(deps), ...authentication },
    observers: [audit(deps)],
    connectStrategy,
    ownTools: {},
    routes: () => [protectedResourceRoutes(metadataAt)],
  };
};
