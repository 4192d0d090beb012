import type { ByteBudget, Clock } from '../process/index.ts';
import type { Caller } from '../call/index.ts';
import type { StrategyConfig } from '../config/index.ts';
import type { Strategy, StrategyDeps } from '../outgoing/index.ts';
import type { ConnectionLimits } from './http/connection.ts';
import type { CircuitState } from '../status/index.ts';
import type { CircuitBreakerSettings } from './discovery/circuit-breaker.ts';
import type { HeaderForward } from './http/forwarded-headers.ts';
import type { HealthSettings } from './discovery/health.ts';
import type { ListeningUsers } from './discovery/listening-users.ts';
import type { Transport } from './session/settings.ts';

/** Settings that identify a backend: when one changes, the backend is replaced. */
export interface BackendSettings {
  readonly name: string;
  readonly url: string;
  readonly transport: Transport;
  /**
   * The only generation of the protocol to speak to it; absent: that of the client at hand, where the backend knows it.
   */
  readonly era?: 'legacy' | 'modern' | undefined;
  /** How the backend authenticates the caller. */
  readonly strategy: StrategyConfig;
  /** File with the authorities that may have signed its certificate; absent: those of the system. */
  readonly caBundlePath?: string | undefined;
  /** Headers that every request carries, whoever is calling. */
  readonly headerForward?: HeaderForward | undefined;
  /** A runtime that passes the credential on: it gets it in another header than the one for its own. */
  readonly relaysCredentials?: boolean | undefined;
}

/** What may change while a backend keeps its connections. */
export interface BackendTuning {
  /** Longest silence of a call. */
  readonly idleTimeoutMs: number;
  readonly health: HealthSettings;
  readonly circuitBreaker: CircuitBreakerSettings;
  /** Calls under way at one time. */
  readonly maxCalls: number;
}

export interface BackendLimits extends ConnectionLimits {
  /** Resources that are watched at one time, each counted once for each caller. */
  readonly watches: number;
  /** Bytes of the calls under way, of those that are larger than `uncountedBytes`. */
  readonly requestBytesTogether: number;
  /** Bytes of the responses that arrive. */
  readonly responseBytesTogether: number;
}

/** What the breaker of a backend, and the bound of its calls, do. */
export interface BackendEvents {
  /** The state of a circuit has changed. */
  readonly circuitChanged: (backend: string, state: CircuitState) => void;
  /** A call was refused before anything was sent. */
  readonly callRefused: (backend: string, reason: 'circuit_open' | 'busy') => void;
}

/**
 * `told`: the backend has told of a change, or may have told of one that was lost. `unknown`: changes before this
 * moment were not listened for.
 */
export type ListChange = 'told' | 'unknown';

export interface BackendDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly limits: BackendLimits;
  readonly answers: ByteBudget;
  /** Shared by the lists of all backends. */
  readonly lists: ByteBudget;
  /** Called after the backend's list or status has changed. */
  readonly onChange: () => void;
  readonly events: BackendEvents;
  /** Called when the lists of a user may have changed, of a backend whose lists depend on the caller. */
  readonly onListsChangedFor?: ((caller: Caller, change: ListChange) => void) | undefined;
  readonly listeningUsers: Pick<ListeningUsers, 'forEach'>;
  readonly readFile: (path: string) => Promise<string>;
  /** Throws where the backend cannot be served with this strategy. */
  readonly connectStrategy: (config: StrategyConfig, backend: StrategyDeps['backend']) => Strategy;
  /** The same caller with the token that is valid now. */
  readonly currentCaller: (caller: Caller) => Caller;
}
