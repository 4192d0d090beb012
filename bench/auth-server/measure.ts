import type { Sample } from '../paths.ts';
import { cpuMicrosOf, type Loader, type Processes, residentOf } from '../processes.ts';
import type { Logins } from './logins.ts';
import type { Refreshing } from './refreshing.ts';

/** One token endpoint. */
export interface Endpoint {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly library?: Refreshing['library'];
}

export interface Length {
  readonly settleMs: number;
  readonly rounds: number;
  readonly windows: number;
  readonly milliseconds: number;
}

/** Refreshes by so many clients: those of one endpoint and another belong together by their index. */
export interface Refreshes {
  readonly clients: number;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
}

/** Window after window through all endpoints, every second time in reverse, so that noise meets all of them. */
export const measureRefreshes = async (
  processes: Processes,
  endpoints: readonly Endpoint[],
  clients: number,
  { settleMs, rounds, windows, milliseconds }: Length,
): Promise<Refreshes> => {
  const samples = new Map<string, Sample[]>(endpoints.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const loaded: { readonly endpoint: Endpoint; readonly loader: Loader }[] = [];
    for (const endpoint of endpoints) {
      const { url, library } = endpoint;
      const load: Refreshing = { url, clients, ...(library && { library }) };
      loaded.push({ endpoint, loader: await processes.loader('auth-server/refreshing.ts', load) });
    }
    for (const { loader } of loaded) await loader.run(settleMs);
    for (let window = 0; window < windows; window += 1)
      for (const { endpoint, loader } of window % 2 === 0 ? loaded : loaded.toReversed())
        samples.get(endpoint.name)?.push(await sampleOf(endpoint.pid, () => loader.run(milliseconds)));
    for (const { loader } of loaded) loader.end();
  }
  return { clients, samples };
};

const sampleOf = async (pid: number, run: () => ReturnType<Loader['run']>): Promise<Sample> => {
  const before = await cpuMicrosOf(pid);
  const { calls, seconds, p50, p99 } = await run();
  const cpuMicros = ((await cpuMicrosOf(pid)) - before) / calls;
  return { callsPerSecond: calls / seconds, cpuMicros, backendPerCall: 0, p50, p99 };
};

/** New users that sign in, each once. */
export interface LoginsMeasured extends Sample {
  readonly name: string;
  readonly users: number;
  /** Resident memory of the gateway that they have added, garbage that is not collected yet included. */
  readonly addedBytes: number;
  /** What they have added to Redis, where it keeps them. */
  readonly storedBytes: number | undefined;
}

/** One login in so many goes before those that are measured. */
const WARM_UP = 10;

export const measureLogins = async (
  processes: Processes,
  { name, url, pid }: Endpoint,
  {
    users,
    atOnce,
    usedBytes,
  }: { readonly users: number; readonly atOnce: number; readonly usedBytes?: (() => Promise<number>) | undefined },
): Promise<LoginsMeasured> => {
  const logins: Logins = { url, atOnce };
  const loader = await processes.loader('auth-server/logins.ts', logins);
  await loader.run(Math.ceil(users / WARM_UP));
  const now = async () => ({ resident: await residentOf(pid), stored: await usedBytes?.() });
  const before = await now();
  const sample = await sampleOf(pid, () => loader.run(users));
  const after = await now();
  loader.end();
  return {
    ...sample,
    name,
    users,
    addedBytes: after.resident - before.resident,
    storedBytes: after.stored === undefined ? undefined : after.stored - (before.stored ?? 0),
  };
};
