import type { ByteBudget, Clock } from '../process/index.ts';
import type { Caller } from '../call/index.ts';
import type { StrategyConfig } from '../config/index.ts';
import type { Strategy, StrategyDeps } from '../outgoing/index.ts';
import type { ConnectionLimits } from './http/connection.ts';
import type { HealthSettings } from './discovery/health.ts';
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
}

/** What may change while a backend keeps its connections. */
export interface BackendTuning {
  /** Longest silence of a call. */
  readonly idleTimeoutMs: number;
  readonly health: HealthSettings;
}

export interface BackendLimits extends ConnectionLimits {
  /** Resources that are watched at one time, each counted once for each caller. */
  readonly watches: number;
}

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
  readonly readFile: (path: string) => Promise<string>;
  /** Throws where the backend cannot be served with this strategy. */
  readonly connectStrategy: (config: StrategyConfig, backend: StrategyDeps['backend']) => Strategy;
  /** The same caller with the token that is valid now. */
  readonly currentCaller: (caller: Caller) => Caller;
}
