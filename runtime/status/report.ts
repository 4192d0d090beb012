import type { ListKind } from '../mcp/index.ts';

/**
 * Body of `GET /status` on the management port: the status of one process. The operator merges the reports of all
 * replicas.
 */
export interface StatusReport {
  /** Version of the runtime. */
  readonly version: string;
  readonly config: {
    /** SHA-256 (hex) over the names and bytes of the config files being served. */
    readonly hash: string;
    /** Why a newer version of the files is not served: one line per problem. Absent when the newest is served. */
    readonly refused?: readonly string[];
  };
  /** Absent where sessions are kept in the process. */
  readonly sessionStore?: SessionStoreReport;
  /** Absent where there is no authorization server. */
  readonly authServer?: AuthServerReport;
  /** `config.metadata`. */
  readonly metadata?: Metadata;
  /** Tools offered to an anonymous caller after aggregation. */
  readonly toolCount: number;
  readonly backends: readonly BackendReport[];
  /** Tools, prompts or resources that lost their name to an earlier backend. */
  readonly collisions: readonly CollisionReport[];
  /** Number of all collisions; `collisions` has the first 100. */
  readonly collisionCount?: number;
  /**
   * Tool names that several backends claim and that `conflictResolution: manual` gives to no backend; the first 100.
   */
  readonly unresolved?: readonly UnresolvedReport[];
  /** Entries of `aggregation.tools[]` that match no tool of a backend in use; the first 100. */
  readonly unmatched?: readonly UnmatchedReport[];
  /** Composite tools that are not offered, since backends do not list tools that they call; the first 100. */
  readonly incomplete?: readonly IncompleteReport[];
  /** Composite tools whose calls are not what the tools that they call take; the first 100. */
  readonly mismatched?: readonly MismatchedReport[];
  /** Tools under names that common clients refuse; the first 100. */
  readonly unusual?: readonly UnusualReport[];
}

/** `refusing`: the store is connected and answers commands with errors. */
export interface SessionStoreReport {
  readonly state: 'up' | 'refusing' | 'down';
  /** RFC 3339. */
  readonly since: string;
  /** Why the state is not `up`, as the store reports it. */
  readonly reason?: string;
}

/** Whether the authorization server works; while it does not, it answers with 503. */
export interface AuthServerReport {
  readonly state: 'up' | 'keys-unusable' | 'store-away';
  /** RFC 3339. */
  readonly since: string;
  /** Why the state is not `up`, without a secret. */
  readonly reason?: string;
}

/** One configured backend. */
export interface BackendReport {
  readonly name: string;
  readonly status: BackendStatus;
  /** Why the backend is not `ready`, or what is missing although it is; safe to show. */
  readonly message?: string;
  /** RFC 3339; when its last check ended. */
  readonly lastHealthCheck?: string;
  /** Failed checks since the last success. */
  readonly consecutiveFailures: number;
  readonly toolCount: number;
  /** Absent where the circuit breaker is turned off. */
  readonly circuitBreakerState?: CircuitState;
  /** RFC 3339; absent when the state has never changed. */
  readonly circuitLastChanged?: string;
  /** As configured. */
  readonly metadata?: Metadata;
}

type Metadata = Readonly<Record<string, string>>;

/** docs/health.md "What a status means" */
export type BackendStatus = 'ready' | 'degraded' | 'unavailable' | 'unauthenticated' | 'unknown';

/** docs/failures.md "The circuit breaker" */
export type CircuitState = 'closed' | 'open' | 'half-open';

export interface CollisionReport {
  /** Absent: tools. */
  readonly kind?: ListKind;
  readonly name: string;
  readonly keptBy: string;
  readonly lostBy: string;
}

export interface UnresolvedReport {
  readonly name: string;
  readonly backends: readonly string[];
}

export interface UnmatchedReport {
  readonly workload: string;
  readonly setting: 'filter' | 'overrides';
  readonly tool: string;
}

export interface IncompleteReport {
  readonly name: string;
  /** `<workload>.<tool>` each. */
  readonly missing: readonly string[];
}

export interface MismatchedReport {
  readonly name: string;
  /** A line each, of step, tool and argument. */
  readonly problems: readonly string[];
}

export interface UnusualReport {
  readonly name: string;
  readonly backend: string;
}
