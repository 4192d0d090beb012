import type { Caller, RequestHead } from './call.ts';
import type { Offer } from './catalog/index.ts';
import type { Clock } from './clock.ts';
import type { PublicRoutes } from './edge/index.ts';
import type { FetchPolicy } from './fetch-policy.ts';
import { type Gate, openGate } from './gate/index.ts';
import type { GuardedClient } from './guarded-fetch.ts';
import type { LiveConfig } from './live-config.ts';
import type { Log, Observers } from './observe/index.ts';
import { type ConnectStrategy, connectStrategy } from './outgoing/index.ts';
import type { OwnToolsByKind } from './own-tools.ts';
import type { ReadSecret } from './secrets.ts';
import type { Store } from './store/index.ts';

/** The doors of the runtime: a capability is one of these values, or a part of several, and `assemble.ts` joins it with the rest. */
export interface Features {
  readonly gate: Gate;
  /** The first one is outermost. */
  readonly observers: readonly Partial<Observers>[];
  readonly connectStrategy: ConnectStrategy;
  readonly ownTools: OwnToolsByKind;
  /** Beside MCP on the public listener. */
  readonly routes: (deps: RouteDeps) => readonly PublicRoutes[];
}

/** Makes all of them, so that two doors can have one thing behind them: what issues tokens is asked by the gate and has routes, too. */
export type MakeFeatures = (deps: FeatureDeps) => Features;

/** What a feature is made of; each takes what it needs. */
export interface FeatureDeps {
  /** What is configured at this moment; with `onReload` a feature takes part in every change. */
  readonly config: LiveConfig;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly readSecret: ReadSecret;
  /** Shared with other rooms: each keeps its things under a prefix of its own (`prefixed`). */
  readonly store: Store;
  /**
   * An HTTP client for everything under this policy that is no backend. It is closed with the runtime, or by the feature, when a newer
   * configuration wants another one.
   */
  readonly fetchUnder: (policy: FetchPolicy, options?: FetchOptions) => GuardedClient;
  /** Closes what the feature has opened itself, once no request is under way any more and before the store is closed. */
  readonly onStop: (close: () => Promise<void>) => void;
}

export interface FetchOptions {
  /** File with the certificate authorities (PEM) that count, in place of those of the system; read for every new connection. */
  readonly caBundlePath?: string | undefined;
}

/** What is known once the features are joined with the rest. */
export interface RouteDeps {
  /** Tells who sent a request, as it does for MCP. Throws VmcpError. */
  readonly authenticate: (head: RequestHead) => Caller | Promise<Caller>;
  readonly offeredTo: Offer['offeredTo'];
}

/** What is built. */
export const makeFeatures: MakeFeatures = () => ({
  gate: openGate,
  observers: [],
  connectStrategy,
  ownTools: {},
  routes: () => [],
});
