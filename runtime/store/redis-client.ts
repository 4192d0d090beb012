import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ReadSecret, SecretSource } from '../process/index.ts';
import { REDIS_TIMES, type RedisSettings, type SentinelSettings, type TlsSettings } from './store-settings.ts';

export type RedisClient = Redis | Cluster;

export interface ConnectDeps {
  readonly readSecret: ReadSecret;
  /** Reads certificates. */
  readonly readFile: (path: string) => Promise<string>;
}

/**
 * One connection (with a cluster: one per node), ready for commands. It never reconnects: when it ends, its holder
 * opens a new one, which reads the secrets again. Throws the cause of a failure.
 */
export const connectRedis = async (
  settings: RedisSettings,
  deps: ConnectDeps,
  signal: AbortSignal,
): Promise<RedisClient> => {
  hearErrorsAfterEnd();
  const client = await clientFor(settings, deps);
  let reason: unknown;
  const noteReason = (error: unknown): void => {
    reason = error;
  };
  client.on('error', noteReason);
  client.on('node error', noteReason);
  try {
    await Promise.race([ready(client, settings), abortion(signal)]);
    return client;
  } catch (error) {
    client.disconnect();
    throw signal.aborted ? error : (reason ?? error);
  } finally {
    client.off('error', noteReason);
    // Without a listener the library writes to the console.
    client.on('error', () => {});
  }
};

interface EndingConnector {
  readonly stream?: NodeJS.EventEmitter | null;
  disconnect: () => void;
}

let areErrorsHeard = false;

/**
 * A TLS handshake that is given up may have two errors: that the certificate is refused here, and the alert that the
 * server answers with. The library (ioredis 5.11) listens for one; another would end the process. Heard from now on
 * where all connections of the library end: those to sentinels, and those by which a cluster is asked for its nodes,
 * are known to it alone.
 */
const hearErrorsAfterEnd = (): void => {
  if (areErrorsHeard) return;
  areErrorsHeard = true;
  const connector = AbstractConnector.prototype as unknown as EndingConnector;
  const { disconnect } = connector;
  connector.disconnect = function (this: EndingConnector): void {
    this.stream?.on('error', () => {});
    disconnect.call(this);
  };
};

const connectionsOf = (client: RedisClient): readonly Redis[] =>
  client instanceof Cluster ? client.nodes('all') : [client];

const ready = async (client: RedisClient, { db, isCluster }: RedisSettings): Promise<void> => {
  await client.connect();
  // A cluster is usable although one of its nodes does not answer.
  if (isCluster) return;
  await client.ping();
  // Selected here, since the library would use database 0 when the server does not have this one.
  if (db > 0) await client.select(db);
};

/** Rejects when the signal aborts; the library has deadlines of its own for many steps, and none for all of them. */
const abortion = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) return fail();
    signal.addEventListener('abort', fail, { once: true });
  });

/**
 * After this time without an answer the connection to a node is closed, and the other nodes are asked which one has
 * taken over. The library judges before it has read its sockets, so a process that stood still for longer loses the
 * connection: this is twice what a command may take.
 */
const NODE_SILENCE_MS = 4_000;

const clientFor = async (settings: RedisSettings, deps: ConnectDeps): Promise<RedisClient> => {
  const { username, password, sentinel, tls, times = REDIS_TIMES } = settings;
  const options: RedisOptions = {
    ...given('username', await textOf(username, deps)),
    ...given('password', await textOf(password, deps)),
    keepAlive: 10_000,
    connectTimeout: times.connectMs,
    connectionName: 'vmcp',
    disableClientInfo: true,
    maxRetriesPerRequest: null,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // The check tells a master from a replica and needs the right to INFO. Elsewhere a PING is enough.
    enableReadyCheck: sentinel !== undefined,
  };
  if (settings.isCluster) return clusterOf(settings, options, deps);
  const once = { ...options, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null };
  if (sentinel) return new Redis({ ...once, ...(await throughSentinels(sentinel, settings, deps)) });
  const [address] = settings.addresses.map((each) => hostAndPort(each, REDIS_PORT));
  return new Redis({ ...once, ...address, ...given('tls', await tlsOf(tls, address?.host, deps)) });
};

/** Whether a server has not taken all commands yet: its side of the connection is full. */
export const isUnsent = (client: RedisClient): boolean =>
  connectionsOf(client).some(({ stream }) => stream?.writableLength > 0);

/** What a server has sent, where there is one connection; of a cluster, what all nodes have. */
export const bytesReceived = (client: RedisClient): number =>
  connectionsOf(client).reduce((bytes, { stream }) => bytes + (stream?.bytesRead ?? 0), 0);

const textOf = async (
  source: string | SecretSource | undefined,
  { readSecret }: ConnectDeps,
): Promise<string | undefined> => (typeof source === 'object' ? readSecret(source) : source);

const throughSentinels = async (
  sentinel: SentinelSettings,
  { addresses, tls }: RedisSettings,
  deps: ConnectDeps,
): Promise<RedisOptions> => ({
  sentinels: addresses.map((each) => hostAndPort(each, SENTINEL_PORT)),
  name: sentinel.masterName,
  ...given('sentinelUsername', await textOf(sentinel.username, deps)),
  ...given('sentinelPassword', await textOf(sentinel.password, deps)),
  ...given('sentinelTLS', await tlsOf(sentinel.tls, undefined, deps)),
  ...(tls && { tls: await tlsOf(tls, undefined, deps), enableTLSForSentinelMode: true }),
  sentinelRetryStrategy: () => null,
  sentinelCommandTimeout: 1_000,
  updateSentinels: false,
});

const clusterOf = async (
  { addresses, tls }: RedisSettings,
  options: RedisOptions,
  deps: ConnectDeps,
): Promise<Cluster> => {
  const secure = await tlsOf(tls, undefined, deps);
  const nodes = addresses.map((each) => hostAndPort(each, REDIS_PORT));
  return new Cluster(nodes, {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: () => null,
    slotsRefreshTimeout: 2_000,
    redisOptions: { ...options, autoResubscribe: true, socketTimeout: NODE_SILENCE_MS, ...given('tls', secure) },
    // Certificates name hosts, so names stay names.
    ...(secure && { dnsLookup: (host: string, found: (error: null, address: string) => void) => found(null, host) }),
  });
};

const tlsOf = async (
  tls: TlsSettings | undefined,
  host: string | undefined,
  { readFile }: ConnectDeps,
): Promise<ConnectionOptions | undefined> =>
  tls && {
    ...(tls.caFile !== undefined && { ca: await readFile(tls.caFile) }),
    rejectUnauthorized: !tls.insecureSkipVerify,
    // RFC 6066 §3: an IP address is no server name.
    ...(host !== undefined && isIP(host) === 0 && { servername: host }),
  };

const given = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/** Parses `host` or `host:port`; an IPv6 address must be in brackets where there is a port, and may be elsewhere. */
export const hostAndPort = (address: string, defaultPort: number): { readonly host: string; readonly port: number } => {
  const { host = address, port } = /^(?<host>\[[^\]]*\]|[^:]+)(?::(?<port>[0-9]+))?$/.exec(address)?.groups ?? {};
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: port === undefined ? defaultPort : Number(port) };
};
