import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { assemble, type Parts } from './assemble.ts';
import { type Clock, gracefulStop, STOP_TIMES, type StopTimes, steadyClock, systemClock } from './process/index.ts';
import type { ConfigFile, ReloadResult } from './config/index.ts';
import { levelOf, logFieldsOf } from './config-slices.ts';
import { type FeatureDeps, type Features, type MakeFeatures, makeFeatures } from './features.ts';
import type { StatusReport } from './status/index.ts';
import { isLoopbackAddress, listen, listeningOrigin } from './http/index.ts';
import { createLog, type Log } from './observe/index.ts';

export interface StartOptions {
  /** `config.yaml` and, if there is one, `backends.yaml`. */
  readonly files: readonly ConfigFile[];
  /** Default `127.0.0.1`; `::` falls back to `0.0.0.0` where there is no IPv6. */
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly managementPort: number;
  /** Default: docs/decisions.md "Graceful stop" */
  readonly stopTimes?: StopTimes;
}

export interface StartDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Log;
  /** Replaces features of this version. */
  readonly features: (deps: FeatureDeps) => Partial<Features>;
  /** Replaces dependencies of features. */
  readonly featureDeps: (deps: FeatureDeps) => FeatureDeps;
  /** The value of an environment variable. Default: the environment of the process. */
  readonly environment: (name: string) => string | undefined;
}

/** A runtime that listens. */
export interface Running {
  /** Where MCP clients connect, on this machine at least. */
  readonly url: string;
  readonly managementUrl: string;
  readonly status: () => StatusReport;
  /** Applies the newer files without dropping a session; refused files leave the configuration as it is. */
  readonly reload: (files: readonly ConfigFile[]) => ReloadResult;
  /** Stops gracefully; resolves when everything is closed. */
  readonly stop: () => Promise<void>;
}

const LOCALHOST = '127.0.0.1';

const isLoopbackHost = (host: string): boolean => host === 'localhost' || isLoopbackAddress(host);

const SESSION_ID_BYTES = 32;
const REPLICA_ID_BYTES = 12;

/** Starts one runtime; a process may hold several. Throws InvalidConfigError, and what `listen` throws. */
export const start = async (options: StartOptions, given: Partial<StartDeps> = {}): Promise<Running> => {
  const { clock = systemClock, random = Math.random, environment = (name) => process.env[name] } = given;
  const parts = await assemble(
    { files: options.files, makeFeatures: featuresWith(given) },
    {
      clock,
      // A frozen clock stands still for durations, too.
      steadyNow: given.clock ? clock.now : steadyClock.now,
      random,
      newSessionId: () => randomBytes(SESSION_ID_BYTES).toString('base64url'),
      newReplicaId: () => randomBytes(REPLICA_ID_BYTES).toString('hex'),
      newCorrelationId: randomUUID,
      readFile: (path) => readFile(path, 'utf8'),
      readBytes: (path) => readFile(path).catch(noneWhereMissing),
      entropy: randomBytes,
      environment,
      machine: { userName: () => userInfo().username, isLoopbackOnly: isLoopbackHost(options.host ?? LOCALHOST) },
      logFor: (config) =>
        given.log ? asGiven(given.log) : createLog({ level: levelOf(config), fields: logFieldsOf(config) }),
    },
  );
  const { config, log, status, phase } = parts;
  const { origin, managementUrl } = await listenOnBoth(parts, options);
  const url = `${origin}/mcp`;
  phase.isReady = true;
  log.info({ url, managementUrl }, 'serving');
  return {
    url,
    managementUrl,
    status,
    reload: (files) => {
      const result = config.reload(files);
      if (!result.ok) log.warn({ problems: result.problems }, 'new configuration refused, the old one goes on');
      return result;
    },
    stop: stopperOf(parts, clock, options.stopTimes ?? STOP_TIMES),
  };
};

const featuresWith =
  ({ features, featureDeps = (deps) => deps }: Partial<StartDeps>): MakeFeatures =>
  async (deps) => {
    const given = featureDeps(deps);
    return { ...(await makeFeatures(given)), ...features?.(given) };
  };

const noneWhereMissing = (error: unknown): undefined => {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
};

/** A log that the caller passed keeps its level and fields. */
const asGiven = (log: Log): Log => ({ ...log, setLevel: () => {}, setFields: () => {} });

const stopperOf = (
  { phase, endpoint, tasksIdle, sessions, callers, heldCalls, backends, publicApp, managementApp, closeShared }: Parts,
  clock: Clock,
  times: StopTimes,
) =>
  gracefulStop(times, {
    clock,
    beUnready: () => {
      phase.isReady = false;
      phase.isLeaving = true;
    },
    refuseNew: () => {
      phase.isStopping = true;
      endpoint.endStreams();
      // Clients with idle connections reconnect, and reach another replica.
      publicApp.server.closeIdleConnections();
    },
    idle: endpoint.idle,
    tasksIdle,
    cancelCalls: (reason) => {
      sessions.cancelAllCalls(reason);
      callers.cancelAllCalls(reason);
      heldCalls.cancelAll(reason);
    },
    endStreams: endpoint.endAllStreams,
    closeListeners: () => publicApp.close(),
    endSessions: async () => {
      await Promise.all([sessions.close(), callers.close()]);
      await backends.close();
    },
    closeRest: async () => {
      await Promise.all([backends.destroy(), managementApp.close()]);
      await closeShared();
    },
  });

const listenOnBoth = async (parts: Parts, options: StartOptions) => {
  const { publicApp, managementApp, sessions, backends, closeShared } = parts;
  const host = options.host ?? LOCALHOST;
  try {
    await listen(publicApp, { host, port: options.port });
    await listen(managementApp, { host, port: options.managementPort });
  } catch (error) {
    await Promise.all([publicApp.close(), managementApp.close(), sessions.close(), backends.destroy()]);
    await closeShared();
    throw error;
  }
  const originOf = ({ server }: typeof publicApp): string => listeningOrigin(server.address() as AddressInfo);
  return { origin: originOf(publicApp), managementUrl: originOf(managementApp) };
};
