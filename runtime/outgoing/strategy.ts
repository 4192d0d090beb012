import type { Caller } from '../call.ts';
import type { Clock } from '../clock.ts';
import type { StrategyConfig } from '../config/index.ts';
import type { GuardedFetch } from '../guarded-fetch.ts';
import type { ReadSecret } from '../secrets.ts';
import type { CredentialCache } from './credential-cache.ts';
import type { BackendRequest, BackendResponse } from './fetch.ts';

/** A request with where it goes, which a signature covers too. */
export interface AddressedRequest extends BackendRequest {
  readonly scheme: 'http' | 'https';
  /** As the `Host` header has it: with the port unless it is the scheme's own. */
  readonly host: string;
}

export type AddressedFetch = (request: AddressedRequest) => Promise<BackendResponse>;

/** Wraps the exchanges with a backend so that they prove who is calling. The credential is obtained anew for each request, or taken from a cache. */
export type Prove = (caller: Caller) => (next: AddressedFetch) => AddressedFetch;

/** An outgoing strategy, connected to one backend. */
export interface Strategy {
  /** Absent: requests go out as they are. Throws VmcpError where there is no credential for this caller; nothing is sent then. */
  readonly prove?: Prove;
  /** What the backend lists may differ from user to user, so each user is shown their own lists. */
  readonly dependsOnCaller: boolean;
  /** The backend is no longer served, or has become another. */
  readonly close: () => Promise<void>;
}

export interface StrategyDeps {
  readonly backend: {
    readonly name: string;
    /** Scheme, host and port. */
    readonly origin: string;
  };
  /** To token endpoints and the like; never to the backend. */
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Reads the secret at every use, so that it can rotate. */
  readonly readSecret: ReadSecret;
  /** An empty cache: a backend that has become another begins without credentials. */
  readonly newCredentialCache: <V>() => CredentialCache<V>;
}

/** What a strategy's part of the configuration becomes for one backend. Opens nothing yet. Throws where the backend cannot be served so. */
export type ConnectStrategy = (config: StrategyConfig, deps: StrategyDeps) => Strategy;
