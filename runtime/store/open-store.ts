import type { Clock } from '../clock.ts';
import type { Config } from '../config/index.ts';
import type { Log } from '../observe/index.ts';
import { memoryStore } from './memory-store.ts';
import { redisStore } from './redis-store.ts';
import type { TlsSettings } from './redis-settings.ts';
import type { Store, StoreState } from './store.ts';

export type StoreConfig = Pick<Config, 'sessionStorage' | 'extensions'>;

export interface OpenStoreDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Value of VMCP_SESSION_KVSTORE_PASSWORD. */
  readonly passwordFromEnvironment: string | undefined;
  readonly readFile: (path: string) => Promise<string>;
}

/** The session store that the configuration names. Comes back at once; `firstAnswer` tells when it can be used. */
export const openStore = (config: StoreConfig, deps: OpenStoreDeps): Store =>
  VARIANTS[config.sessionStorage?.provider ?? 'memory'](config, deps);

const openMemory = (_config: StoreConfig, deps: OpenStoreDeps): Store => memoryStore(deps);

/** A call fails well before its client gives up. */
const TIMES = { connectMs: 3_000, commandMs: 2_000, pingMs: 10_000 };
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/** Without a prefix of its own, a server still leaves a shared Redis tidy. The operator gives each server one. */
const KEY_PREFIX = 'vmcp:';

const openRedis = ({ sessionStorage, extensions }: StoreConfig, deps: OpenStoreDeps): Store => {
  const { username, passwordFile, tls, sentinel, cluster } = extensions.sessionStore ?? {};
  const port = sentinel ? SENTINEL_PORT : REDIS_PORT;
  const addresses = [sessionStorage?.address ?? 'localhost', ...(sentinel?.addresses ?? cluster?.addresses ?? [])];
  return redisStore(
    {
      addresses: addresses.map((address) => withPort(address, port)),
      db: sessionStorage?.db ?? 0,
      keyPrefix: sessionStorage?.keyPrefix ?? KEY_PREFIX,
      username,
      password: () => secret(passwordFile, deps.passwordFromEnvironment, deps),
      tls: tls && tlsSettings(tls, deps),
      sentinel: sentinel && {
        masterName: sentinel.masterName,
        username: sentinel.username,
        password: () => secret(sentinel.passwordFile, undefined, deps),
        tls: sentinel.tls && tlsSettings(sentinel.tls, deps),
      },
      isCluster: cluster !== undefined,
      times: TIMES,
    },
    { clock: deps.clock, random: deps.random, onTransition: (state, reason) => logTransition(deps.log, state, reason) },
  );
};

/** One file per store, one line here. */
const VARIANTS = { memory: openMemory, kvstore: openRedis } as const;

const logTransition = (log: OpenStoreDeps['log'], state: StoreState, reason: string): void => {
  if (state === 'up') log.info({}, 'the session store answers');
  else log.warn({ reason }, TROUBLE[state]);
};

const TROUBLE = {
  down: 'the session store is away: requests that need a session are refused until it answers',
  refusing: 'the session store answers commands with errors: requests that need them are refused',
} as const;

/** `host` or `host:port`, IPv6 in brackets when there is a port. */
const withPort = (address: string, port: number): string => {
  if (/^(\[.*\]|[^:]+):[0-9]+$/.test(address)) return address;
  return address.includes(':') && !address.startsWith('[') ? `[${address}]:${port}` : `${address}:${port}`;
};

const tlsSettings = (
  {
    caFile,
    insecureSkipVerify = false,
  }: { readonly caFile?: string | undefined; readonly insecureSkipVerify?: boolean | undefined },
  { readFile }: OpenStoreDeps,
): TlsSettings => ({
  ca: async () => (caFile === undefined ? undefined : readFile(caFile)),
  insecureSkipVerify,
});

/** The file wins, so that the secret can rotate; a mounted file of an optional secret may be missing (decisions "Config in the cluster"). */
const secret = async (
  file: string | undefined,
  otherwise: string | undefined,
  { readFile }: OpenStoreDeps,
): Promise<string | undefined> => {
  const text = file === undefined ? undefined : await readIfThere(file, readFile);
  return text?.replace(/\r?\n$/, '') || otherwise || undefined;
};

const readIfThere = async (file: string, readFile: OpenStoreDeps['readFile']): Promise<string | undefined> => {
  try {
    return await readFile(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};
