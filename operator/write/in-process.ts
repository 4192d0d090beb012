import { isDeepStrictEqual } from 'node:util';
import type { StatusReport } from '../../runtime/status/index.ts';
import type { ConfigFiles } from '../plan/plan.ts';
import type { PodReports } from '../plan/server/bundle.ts';

/** A runtime in this process; what `start()` of the runtime gives, as far as it is used here. */
export interface RunningRuntime {
  status(): StatusReport;
  /** Serves these files from now on, or says in its status why not. Sessions stay. */
  reload(files: readonly { readonly name: string; readonly text: string }[]): unknown;
  stop(): Promise<void>;
}

/** One server as local mode is to serve it. */
export interface WantedRuntime {
  readonly files: ConfigFiles;
  /** Public port on loopback; the management port is the next one. */
  readonly port: number;
  /** Files with another hash need a new process in a cluster, and a fresh runtime here. */
  readonly startupHash: string;
}

/** Starts a runtime in this process. Rejects where it cannot listen, or its files are refused. */
export type StartRuntime = (name: string, wanted: WantedRuntime) => Promise<RunningRuntime>;

interface Entry {
  readonly wanted: WantedRuntime;
  readonly runtime: RunningRuntime;
}

/** The runtimes of local mode, by server name: what Deployments and ConfigMaps are in a cluster. */
export class InProcessRuntimes {
  readonly #start: StartRuntime;
  readonly #entries = new Map<string, Entry>();

  constructor(start: StartRuntime) {
    this.#start = start;
  }

  /** Starts, reloads and stops until exactly these run. Returns why some could not be started, by name. */
  async apply(wanted: ReadonlyMap<string, WantedRuntime>): Promise<ReadonlyMap<string, unknown>> {
    for (const name of this.#entries.keys()) if (!wanted.has(name)) await this.#stop(name);
    const failures = new Map<string, unknown>();
    for (const [name, each] of wanted) {
      try {
        await this.#applyOne(name, each);
      } catch (error) {
        failures.set(name, error);
      }
    }
    return failures;
  }

  /** Servers that run now. */
  names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** In the form of pods: one replica called `local`. */
  reports(name: string): PodReports {
    const entry = this.#entries.get(name);
    return new Map(entry === undefined ? [] : [['local', entry.runtime.status()]]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((name) => this.#stop(name)));
  }

  async #applyOne(name: string, wanted: WantedRuntime): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return this.#startOne(name, wanted);
    if (isDeepStrictEqual(entry.wanted, wanted)) return undefined;
    if (entry.wanted.port !== wanted.port || entry.wanted.startupHash !== wanted.startupHash) {
      await this.#stop(name);
      return this.#startOne(name, wanted);
    }
    await entry.runtime.reload(asList(wanted.files));
    this.#entries.set(name, { ...entry, wanted });
  }

  async #startOne(name: string, wanted: WantedRuntime): Promise<void> {
    this.#entries.set(name, { wanted, runtime: await this.#start(name, wanted) });
  }

  async #stop(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    await entry?.runtime.stop();
  }
}

/** As the runtime takes them. */
export const asList = (files: ConfigFiles): readonly { readonly name: string; readonly text: string }[] =>
  Object.entries(files).map(([name, text]) => ({ name, text }));
