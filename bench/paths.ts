import type { Load } from './load.ts';
import { cpuMicrosOf, type Loader, type Processes, requestsAt, type Started } from './processes.ts';
import { servesModern, type Work } from './requests.ts';

/** One way to the backend. */
export interface Path {
  readonly name: string;
  readonly url: string;
  readonly prefix: string;
  /** The process in between; none when the backend is called directly. */
  readonly pid?: number;
  /** Of users, of which a scenario takes the first ones; absent: it wants none. */
  readonly tokens?: readonly string[];
  /** Default: those of the scenario. */
  readonly clients?: number;
}

export interface Scenario {
  readonly name: string;
  readonly clients: number;
  readonly kind: Work['kind'];
  readonly era: Work['era'];
  readonly paths: readonly Path[];
  /** Users with tokens; default: one for each client. */
  readonly users?: number;
  readonly moreArguments?: Load['moreArguments'];
  readonly variants?: Load['variants'];
}

export interface Sample {
  readonly callsPerSecond: number;
  readonly cpuMicros: number;
  readonly backendPerCall: number;
  readonly p50: number;
  readonly p99: number;
}

export type Samples = ReadonlyMap<string, readonly Sample[]>;

export const keyOf = (scenario: Scenario, path: Path): string =>
  `${scenario.name} · ${scenario.clients} · ${path.name}`;

/** Those of two rounds of the same scenarios. */
export const joined = (before: Samples, after: Samples): Samples =>
  new Map([...before].map(([key, samples]) => [key, [...samples, ...(after.get(key) ?? [])]]));

/** Name of the path through a build from before. */
export const EARLIER = 'vmcp, earlier';

/**
 * All scenarios over one backend; those of 2026-07-28 only where it is served. `earlier`: a build that each of them is
 * tried with, too.
 */
export const scenariosOf = async (
  processes: Processes,
  backend: Started,
  earlier: string | undefined,
): Promise<readonly Scenario[]> => {
  const proxy = await processes.byteProxy(backend.url);
  const over = async (path: string): Promise<readonly Path[]> => {
    const vmcp = await processes.vmcp(`${backend.url}${path}`);
    const before = earlier && (await processes.vmcp(`${backend.url}${path}`, { program: { file: earlier } }));
    return [
      { name: 'direct', url: `${backend.url}${path}`, prefix: '' },
      { name: 'byte proxy', url: `${proxy.url}${path}`, prefix: '', pid: proxy.pid },
      { name: 'vmcp', url: vmcp.url, prefix: 'bench_', pid: vmcp.pid },
      ...(before ? [{ name: EARLIER, url: before.url, prefix: 'bench_', pid: before.pid }] : []),
    ];
  };
  const [few, many, modern] = [await over('/mcp'), await over('/2000/mcp'), await over('/modern/mcp')];
  const legacy = { era: 'legacy', paths: few } as const;
  const source = await processes.vmcp(`${backend.url}/mcp`, { program: 'source' });
  const fromSource: Path = { name: 'vmcp from source', url: source.url, prefix: 'bench_', pid: source.pid };
  const vmcp = modern.find(({ name }) => name === 'vmcp');
  const isModernServed = vmcp !== undefined && (await servesModern(vmcp.url));
  const hops = (paths: readonly Path[]): readonly Path[] => paths.filter(({ name }) => name !== 'direct');
  return [
    { ...legacy, name: '1 KB call', kind: 'echo', clients: 1 },
    { name: '1 KB call', kind: 'echo', clients: 50, era: 'legacy', paths: [...few, fromSource] },
    { ...legacy, name: '1 KB call', kind: 'echo', clients: 200 },
    ...[1, 50, 200].map((clients) => ({ ...legacy, name: '100 KB call', kind: 'large', clients }) as const),
    ...[50, 200].map((clients) => ({ ...legacy, name: '100 KB both ways', kind: 'both', clients }) as const),
    { ...legacy, name: 'list of 200 tools', kind: 'list', clients: 50 },
    { name: 'page of 1,000 of 2,000 tools', kind: 'list', clients: 50, era: 'legacy', paths: hops(many) },
    ...(isModernServed
      ? [1, 50].map(
          (clients) =>
            ({ name: '1 KB call, 2026-07-28', kind: 'echo', clients, era: 'modern', paths: hops(modern) }) as const,
        )
      : []),
  ];
};

/**
 * Gives every process that 1 KB calls of 50 clients go through such calls for so long, uncounted: V8 goes on optimising
 * for most of a minute of them. In so many slices, in turn with those of the others, so that none is idle for long.
 */
export const warmUp = async (
  processes: Processes,
  scenarios: readonly Scenario[],
  { milliseconds, slices }: { readonly milliseconds: number; readonly slices: number },
): Promise<void> => {
  const warm = new Map<number, Loader>();
  for (const scenario of scenarios.filter(({ kind, clients }) => kind === 'echo' && clients === 50)) {
    for (const path of scenario.paths)
      if (path.pid !== undefined && !warm.has(path.pid))
        warm.set(path.pid, (await loaded(processes, scenario, path)).loader);
  }
  for (let slice = 0; slice < slices; slice += 1)
    for (const loader of warm.values()) await loader.run(milliseconds / slices);
  for (const loader of warm.values()) loader.end();
};

export interface Length {
  readonly rounds: number;
  /** Of uncounted load on each path before its windows. */
  readonly settleMs: number;
  /** In each round, of each path. */
  readonly windows: number;
  readonly milliseconds: number;
}

/**
 * Round after round through all scenarios, and in each of them window after window through its paths, so that noise of
 * the machine meets all of them: the samples of a scenario's paths belong together by their index.
 */
export const measureAll = async (
  processes: Processes,
  backend: Started,
  scenarios: readonly Scenario[],
  { rounds, settleMs, windows, milliseconds }: Length,
): Promise<Samples> => {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const scenario of scenarios) {
      const paths: Awaited<ReturnType<typeof loaded>>[] = [];
      // One after the other: new processes want more than the machine has.
      for (const path of scenario.paths) paths.push(await loaded(processes, scenario, path));
      // The load generators are new, and V8 has dropped optimised code of a hop that was idle for a minute.
      for (const { loader } of paths) await loader.run(settleMs);
      for (let window = 0; window < windows; window += 1) {
        // Every second one runs the other way, so that no path always follows the same one.
        for (const { path, loader } of window % 2 === 0 ? paths : paths.toReversed()) {
          const sample = await measure(backend, { path, loader, milliseconds });
          const key = keyOf(scenario, path);
          samples.set(key, [...(samples.get(key) ?? []), sample]);
        }
      }
      for (const { loader } of paths) loader.end();
    }
  }
  return samples;
};

const loaded = async (processes: Processes, scenario: Scenario, path: Path) => {
  const { url, prefix, tokens, clients = scenario.clients } = path;
  const { kind, era, users = clients, moreArguments, variants } = scenario;
  const client = { clients, tokens: tokens?.slice(0, users), moreArguments, variants };
  return { path, loader: await processes.load({ url, era, kind, prefix, ...client }) };
};

interface Window {
  readonly path: Path;
  readonly loader: Loader;
  readonly milliseconds: number;
}

const measure = async (backend: Started, { path: { pid }, loader, milliseconds }: Window): Promise<Sample> => {
  const now = async () => ({
    cpu: pid === undefined ? 0 : await cpuMicrosOf(pid),
    requests: await requestsAt(backend),
  });
  const before = await now();
  const { calls, seconds, p50, p99 } = await loader.run(milliseconds);
  const after = await now();
  return {
    callsPerSecond: calls / seconds,
    cpuMicros: (after.cpu - before.cpu) / calls,
    backendPerCall: (after.requests - before.requests) / calls,
    p50,
    p99,
  };
};

/** Of an even number the upper one of the two in the middle. */
export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;

export const mediansOf = (samples: readonly Sample[]): Sample => ({
  callsPerSecond: median(samples.map((sample) => sample.callsPerSecond)),
  cpuMicros: median(samples.map((sample) => sample.cpuMicros)),
  backendPerCall: median(samples.map((sample) => sample.backendPerCall)),
  p50: median(samples.map((sample) => sample.p50)),
  p99: median(samples.map((sample) => sample.p99)),
});

/** The median of what one is of the other, measured right after one another. */
export const ratioOf = (samples: readonly Sample[], floor: readonly Sample[], of: keyof Sample): number =>
  median(samples.map((sample, index) => sample[of] / (floor[index]?.[of] ?? NaN)));
