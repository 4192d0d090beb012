import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisSettings, TlsSettings } from './redis-settings.ts';

export type RedisClient = Redis | Cluster;

/**
 * One connection (with a cluster: one per node), ready for commands. It is never mended: when it ends, whoever holds it makes a new
 * one, and so reads secrets anew. Throws what went wrong.
 */
export const connectRedis = async (settings: RedisSettings, signal: AbortSignal): Promise<RedisClient> => {
  const client = await clientFor(settings);
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

const ready = async (client: RedisClient, { db, isCluster }: RedisSettings): Promise<void> => {
  await client.connect();
  // A node of a cluster that does not answer is no reason to do without the others.
  if (isCluster) return;
  await client.ping();
  // By hand: left to the library, a number that the server does not have would mean database 0.
  if (db > 0) await client.select(db);
};

/** Rejects when the signal aborts; the library has deadlines of its own for many steps, and none for all of them. */
const abortion = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) return fail();
    signal.addEventListener('abort', fail, { once: true });
  });

const CONNECT_MS = 3_000;
/** After so long a node that owes an answer is left, and the others are asked for the one that has taken over. */
const NODE_SILENCE_MS = 2_000;

const clientFor = async (settings: RedisSettings): Promise<RedisClient> => {
  const options: RedisOptions = {
    ...given('username', settings.username),
    ...given('password', await settings.password()),
    keepAlive: 10_000,
    connectTimeout: CONNECT_MS,
    connectionName: 'vmcp',
    disableClientInfo: true,
    maxRetriesPerRequest: null,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // Tells a master from a replica, and needs the right to INFO. Elsewhere a PING says what there is to say.
    enableReadyCheck: settings.sentinel !== undefined,
  };
  if (settings.isCluster) return clusterOf(settings, options);
  const once = { ...options, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null };
  if (settings.sentinel) return new Redis({ ...once, ...(await throughSentinels(settings)) });
  const [address] = settings.addresses.map(hostAndPort);
  return new Redis({ ...once, ...address, ...given('tls', await tlsOf(settings.tls, address?.host)) });
};

const throughSentinels = async ({ addresses, sentinel, tls }: RedisSettings): Promise<RedisOptions> => ({
  sentinels: addresses.map(hostAndPort),
  name: sentinel?.masterName ?? '',
  ...given('sentinelUsername', sentinel?.username),
  ...given('sentinelPassword', await sentinel?.password()),
  ...given('sentinelTLS', await tlsOf(sentinel?.tls, undefined)),
  ...(tls && { tls: await tlsOf(tls, undefined), enableTLSForSentinelMode: true }),
  sentinelRetryStrategy: () => null,
  sentinelCommandTimeout: 1_000,
  updateSentinels: false,
});

const clusterOf = async ({ addresses, tls }: RedisSettings, options: RedisOptions): Promise<Cluster> => {
  const secure = await tlsOf(tls, undefined);
  return new Cluster(addresses.map(hostAndPort), {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: () => null,
    slotsRefreshTimeout: 2_000,
    redisOptions: { ...options, autoResubscribe: true, socketTimeout: NODE_SILENCE_MS, ...given('tls', secure) },
    // Certificates name hosts, so names stay names.
    ...(secure && { dnsLookup: (host: string, found: (error: null, address: string) => void) => found(null, host) }),
  });
};

const tlsOf = async (tls: TlsSettings | undefined, host: string | undefined): Promise<ConnectionOptions | undefined> =>
  tls && {
    ...given('ca', await tls.ca()),
    rejectUnauthorized: !tls.insecureSkipVerify,
    // RFC 6066 §3: an IP address is no server name.
    ...(host !== undefined && isIP(host) === 0 && { servername: host }),
  };

/** `host:port`, with an IPv6 address in brackets. */
const hostAndPort = (address: string): { readonly host: string; readonly port: number } => {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
};

const given = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
