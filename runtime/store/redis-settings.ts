/** Where a Redis is and how one gets in. Secrets and certificates are read at every connect, so that they can rotate. */
export interface RedisSettings {
  /** The server itself; with `sentinel` the sentinels, with `cluster` the nodes to ask first. `host:port`. */
  readonly addresses: readonly string[];
  /** Not with `cluster`. */
  readonly db: number;
  readonly username: string | undefined;
  readonly password: () => Promise<string | undefined>;
  readonly tls: TlsSettings | undefined;
  readonly sentinel: SentinelSettings | undefined;
  readonly isCluster: boolean;
}

export interface SentinelSettings {
  readonly masterName: string;
  readonly username: string | undefined;
  readonly password: () => Promise<string | undefined>;
  readonly tls: TlsSettings | undefined;
}

export interface TlsSettings {
  /** PEM; undefined: the authorities that the system knows. */
  readonly ca: () => Promise<string | undefined>;
  readonly insecureSkipVerify: boolean;
}
