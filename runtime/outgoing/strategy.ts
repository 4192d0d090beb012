import type { Caller, CredentialOutcome } from '../call/index.ts';
import type { Clock, ReadSecret } from '../process/index.ts';
import type { StrategyConfig } from '../config/index.ts';
import type { GuardedFetch } from '../http/index.ts';
import type { CredentialCache } from './credential-cache.ts';
import type { Fetch } from './fetch.ts';

/**
 * Wraps the exchanges with a backend so that they carry the caller's credential, which is obtained or taken from a
 * cache for each request. `callerNow` is asked when a request is sent: a user may have shown a newer token since; it
 * throws where the user has no valid one any more.
 */
export type Prove = (callerNow: () => Caller, note?: NoteOutcome) => (next: Fetch) => Fetch;

/** Called when a request is sent with a credential, and again when more is known of it. */
export type NoteOutcome = (outcome: CredentialOutcome) => void;

/** An outgoing strategy, connected to one backend. */
export interface Strategy {
  /**
   * Absent: requests are sent unchanged. What it returns rejects with a VmcpError where there is no credential for this
   * caller; nothing is sent then.
   */
  readonly prove?: Prove;
  /** Whether the backend's lists may differ by user, so that they are read for each user. */
  readonly dependsOnCaller: boolean;
  /** Called when the backend is removed or replaced. */
  readonly close: () => Promise<void>;
}

export interface StrategyDeps {
  readonly backend: {
    readonly name: string;
    /** Scheme, host and port. */
    readonly origin: string;
  };
  /** For token endpoints and the like; never for the backend. */
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Reads the secret at every use, so that it can rotate. */
  readonly readSecret: ReadSecret;
  /** Makes an empty cache, so that a replaced backend begins without credentials. */
  readonly newCredentialCache: <V>() => CredentialCache<V>;
  readonly measures: CredentialMeasures;
}

/** What is counted of the credentials of one backend. */
export interface CredentialMeasures {
  /** A credential was taken from the cache. */
  readonly cached: () => void;
  /** A credential was asked for at its issuer, with this outcome. */
  readonly obtained: (outcome: 'obtained' | 'refused' | 'failed' | 'invalid', seconds: number) => void;
  /** The backend has refused a credential with 401. */
  readonly refused: () => void;
}

/**
 * Makes the strategy of one backend from its configuration, without opening a connection. Throws where the backend
 * cannot be served with it.
 */
export type ConnectStrategy = (config: StrategyConfig, deps: StrategyDeps) => Strategy;
