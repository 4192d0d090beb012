import type { SecretSource } from '../secrets.ts';

/** Which store it is, and how it is reached. */
export type StoreSettings = MemorySettings | RedisSettings;

/** Within the process. */
export interface MemorySettings {
  readonly kind: 'memory';
}

/** In a Redis, or what speaks its protocol. Secrets and certificates are read at every connect, so that they can rotate. */
export interface RedisSettings {
  readonly kind: 'redis';
  /**
   * The server itself; with `sentinel` the sentinels, with `isCluster` the nodes to ask first. `host` or `host:port`, IPv6 in brackets
   * when there is a port. Default port: 6379, and 26379 of a sentinel.
   */
  readonly addresses: readonly string[];
  /** Not in a cluster. */
  readonly db: number;
  /** Before all keys and channels. */
  readonly keyPrefix: string;
  /** Its name, or where that is kept like a secret. Default: the user that Redis calls `default`. */
  readonly username?: string | SecretSource | undefined;
  /** Default: none is asked for. */
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
  /** Default: the user that the sentinels call `default`. */
  readonly username?: string | SecretSource | undefined;
  /** Default: none is asked for. */
  readonly password?: SecretSource | undefined;
  /** Presence turns TLS on. */
  readonly tls?: TlsSettings | undefined;
}

export interface TlsSettings {
  /** PEM file, which must be there. Default: the authorities that the system knows. */
  readonly caFile?: string | undefined;
  readonly insecureSkipVerify: boolean;
}

export interface RedisTimes {
  /** To connect and to be ready. */
  readonly connectMs: number;
  /** For each command. */
  readonly commandMs: number;
  /** Between looks whether an idle connection still answers. */
  readonly pingMs: number;
}

/** A call fails well before its client gives up. */
export const REDIS_TIMES: RedisTimes = { connectMs: 3_000, commandMs: 2_000, pingMs: 10_000 };
