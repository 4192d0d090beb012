import type { SecretSource } from '../process/index.ts';

/** The kind of the store, and how it is reached. */
export type StoreSettings = MemorySettings | RedisSettings;

/** A store in the process. */
export interface MemorySettings {
  readonly kind: 'memory';
}

/**
 * A store in Redis, or a server that speaks its protocol. Secrets and certificates are read at every connect, so that
 * they can rotate.
 */
export interface RedisSettings {
  readonly kind: 'redis';
  /**
   * The server itself; with `sentinel` the sentinels, with `isCluster` the nodes to ask first. `host` or `host:port`,
   * IPv6 in brackets when there is a port. Default port: 6379, and 26379 of a sentinel.
   */
  readonly addresses: readonly string[];
  /** Not in a cluster. */
  readonly db: number;
  /** Prefix of all keys and channels. */
  readonly keyPrefix: string;
  /** The user name, or where it is kept like a secret. Default: the Redis user `default`. */
  readonly username?: string | SecretSource | undefined;
  /** Default: no password. */
  readonly password?: SecretSource | undefined;
  /** Presence turns TLS on. */
  readonly tls?: TlsSettings | undefined;
  readonly sentinel?: SentinelSettings | undefined;
  /** Not with `sentinel`. */
  readonly isCluster: boolean;
  /** Default: `REDIS_TIMES`. */
  readonly times?: RedisTimes;
}

export interface SentinelSettings {
  readonly masterName: string;
  /** Default: the sentinels' user `default`. */
  readonly username?: string | SecretSource | undefined;
  /** Default: no password. */
  readonly password?: SecretSource | undefined;
  /** Presence turns TLS on. */
  readonly tls?: TlsSettings | undefined;
}

export interface TlsSettings {
  /** PEM file, which must be there. Default: the authorities that the system knows. */
  readonly caFile?: string | undefined;
  readonly insecureSkipVerify: boolean;
}

/** Times in ms. */
export interface RedisTimes {
  /** Time to connect and to be ready. */
  readonly connectMs: number;
  /** Deadline of each command. */
  readonly commandMs: number;
  /** Time in which a command has to be on its way. Default: `commandMs` */
  readonly writeMs?: number;
  /** Interval between pings of an idle connection. Default: that of `REDIS_TIMES` */
  readonly pingMs?: number;
}

/** A call fails well before its client gives up. */
export const REDIS_TIMES = { connectMs: 3_000, commandMs: 2_000, pingMs: 10_000 } as const satisfies RedisTimes;
