/*
 * Local mode: the manifests of a directory are planned like those of a cluster, and the runtime runs in this process on
 * loopback. Only where files lie and what URLs look like differs (plan/settings.ts). Nothing is written but the state
 * directory `.vmcp` beside the manifests.
 * Start with `LocalSession` below; local.ts above this room is the command.
 */

import { reconciledKinds } from '../kinds/index.ts';
import { type Planned, namespacesOf, planEverything } from '../kinds/plan-everything.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { Accepted } from '../plan/server/bundle.ts';
import type { Settings } from '../plan/settings.ts';
import { writtenSpec } from '../plan/written-spec.ts';
import { type Manifests, problemText } from '../read/manifests.ts';
import { objectsSource } from '../read/source.ts';
import type { InProcessRuntimes, WantedRuntime } from '../write/in-process.ts';
import { joinDocuments, statusDocument } from '../write/stdout.ts';
import type { ReadLocalFile } from './local-file.ts';
import { backendNames, unknownBackend, unservedMappings } from './mappings.ts';
import type { LocalOptions } from './options.ts';
import { type Ports, assignPorts } from './ports.ts';
import type { SecretFiles } from './secret-files.ts';
import { statusText } from './show-status.ts';
import type { StateFiles } from './state-files.ts';

export interface LocalSessionDeps {
  readonly readManifests: () => Manifests;
  readonly readLocalFile: () => ReadLocalFile;
  readonly state: StateFiles;
  readonly secrets: SecretFiles;
  readonly isFree: (port: number) => Promise<boolean>;
  readonly runtimes: InProcessRuntimes;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** Other kinds run where they are mapped to. */
const SERVED = 'VirtualMCPServer';

/** One directory being served: what it says, what of it is accepted, and what was last shown. */
export class LocalSession {
  readonly #options: LocalOptions;
  readonly #deps: LocalSessionDeps;
  readonly #kinds = reconciledKinds();
  readonly #accepted = new Map<string, Accepted>();
  #objects: readonly KubeObject[] = [];
  #settings: Settings;
  #shown = '';
  #complaint = '';
  #written = '';
  #unwritable = '';
  #isIncomplete = false;

  constructor(options: LocalOptions, deps: LocalSessionDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#settings = this.#settingsFor({}, {});
  }

  /** The first pass. Answers the exit code if there is nothing to go on with. */
  async begin(): Promise<1 | 2 | undefined> {
    const { objects, problems } = this.#deps.readManifests();
    const names = backendNames(objects);
    const unknown = Object.keys(this.#options.backends).filter((name) => !names.includes(name));
    if (problems.length === 0 && unknown.length > 0) {
      for (const name of unknown) this.#deps.stderr(`--backend ${name}: ${unknownBackend(name, objects)}\n`);
      return 2;
    }
    return (await this.follow()) ? undefined : 1;
  }

  /**
   * Reads the directory and makes the runtimes what it says. False, and nothing changes, when something in it is wrong.
   */
  async follow(): Promise<boolean> {
    const local = this.#deps.readLocalFile();
    const { objects, problems } = this.#deps.readManifests();
    const wrong = [...[...(local.ok ? [] : local.problems), ...problems].map(problemText), ...sameNames(objects)];
    if (!local.ok || wrong.length > 0) {
      this.#complain(wrong);
      return false;
    }
    this.#objects = objects;
    this.#deps.secrets.write(objects);
    this.#settings = this.#settingsFor(local.file.backends, await this.#ports(local.file.ports));
    const planned = this.#plan();
    this.#complain([
      ...unservedMappings(this.#settings, objects, planned),
      ...unknownServers(local.file.ports, objects),
      ...(await this.#serve(planned)),
    ]);
    this.show();
    return true;
  }

  /** Some server could not be started, for a reason that may pass (its port is taken): follow again. */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  /** Plans again with what the runtimes say now, and shows what is new. */
  show(): void {
    const planned = this.#plan();
    const text = statusText(planned);
    this.#writeStatus(joinDocuments(planned.flatMap(statusDocument)));
    if (text === this.#shown) return;
    this.#shown = text;
    this.#deps.stdout(text);
  }

  #plan(): readonly Planned[] {
    const source = {
      ...objectsSource(this.#objects),
      reports: ({ name }: ObjectKey) => this.#deps.runtimes.reports(name),
      accepted: ({ kind, name }: ObjectKey) => (kind === SERVED ? this.#accepted.get(name) : undefined),
    };
    return planEverything(this.#kinds, { source, namespaces: namespacesOf(this.#objects) }, this.#settings);
  }

  /** Answers why servers cannot be served. */
  async #serve(planned: readonly Planned[]): Promise<readonly string[]> {
    const wanted = new Map<string, WantedRuntime>();
    for (const { object, plan } of planned) {
      const port = this.#settings.local?.ports[object.metadata.name];
      const { config: files, startupHash } = plan;
      if (files === undefined || startupHash === undefined || port === undefined) continue;
      wanted.set(object.metadata.name, { files, port, startupHash });
    }
    const stopped = this.#deps.runtimes.names().filter((name) => !wanted.has(name));
    const failures = await this.#deps.runtimes.apply(wanted);
    for (const name of stopped) this.#deps.stdout(`${name} stopped\n`);
    this.#isIncomplete = failures.size > 0;
    for (const { object, plan } of planned) this.#remember(object, plan, failures.has(object.metadata.name));
    return [...failures].map(([name, error]) => `${name} cannot be served: ${reasonOf(error)}`);
  }

  /** Accepted = served as it is newest (docs/decisions.md "Last good spec"). */
  #remember({ kind, metadata, ...object }: KubeObject, { config, withheld }: Planned['plan'], failed: boolean): void {
    if (kind !== SERVED || config === undefined || withheld !== undefined || failed) return;
    this.#accepted.set(metadata.name, { written: writtenSpec({ kind, metadata, ...object }), files: config });
  }

  async #ports(wanted: Ports): Promise<Ports> {
    const kept = this.#deps.state.readPorts();
    const servers = serverNames(this.#objects);
    const known = Object.fromEntries(Object.entries(wanted).filter(([name]) => servers.includes(name)));
    const ports = await assignPorts({ servers: servers.toSorted(), kept, wanted: known }, this.#deps.isFree);
    // What local.yaml says is its own memory: without it the server is free to have another port.
    const found = Object.fromEntries(Object.entries(ports).filter(([name]) => !Object.hasOwn(known, name)));
    this.#writeState(() => this.#deps.state.writePorts(found));
    return ports;
  }

  #writeStatus(text: string): void {
    if (text === this.#written) return;
    if (this.#writeState(() => this.#deps.state.writeStatus(text))) this.#written = text;
  }

  /** A full or read-only disk is reported once and stops nothing: the state files are only a memory. */
  #writeState(write: () => void): boolean {
    try {
      write();
      this.#unwritable = '';
      return true;
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      // Of its files, which have the same trouble, one is enough.
      if (code !== this.#unwritable) {
        this.#deps.stderr(`.vmcp cannot be written: ${reasonOf(error)}; ports and status are not kept there\n`);
      }
      this.#unwritable = code;
      return false;
    }
  }

  #settingsFor(backends: Readonly<Record<string, string>>, ports: Ports): Settings {
    return {
      clusterDomain: 'cluster.local',
      runtimeImage: 'vmcp',
      bridgeImage: 'vmcp-operator',
      operatorNamespace: 'vmcp-system',
      operatorKeys: [],
      local: {
        filesDirectory: this.#deps.secrets.directory,
        backends: { ...backends, ...this.#options.backends },
        ports,
      },
    };
  }

  /** Once, until it changes; also that it is over. */
  #complain(problems: readonly string[]): void {
    const text = problems.map((problem) => `${problem}\n`).join('');
    if (text !== '' && text !== this.#complaint) this.#deps.stderr(text);
    if (text === '' && this.#complaint !== '') this.#deps.stderr('problems solved\n');
    this.#complaint = text;
  }
}

const serverNames = (objects: readonly KubeObject[]): readonly string[] =>
  objects.filter(({ kind }) => kind === SERVED).map(({ metadata }) => metadata.name);

const unknownServers = (ports: Ports, objects: readonly KubeObject[]): readonly string[] => {
  const names = serverNames(objects);
  return Object.keys(ports)
    .filter((name) => !names.includes(name))
    .map(
      (name) =>
        `local.yaml: ports.${name}: no VirtualMCPServer is called that; there are ${names.join(', ') || 'none'}`,
    );
};

/** Ports and mappings go by name alone. */
const sameNames = (objects: readonly KubeObject[]): readonly string[] => {
  const names = serverNames(objects);
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  return twice.map((name) => `VirtualMCPServer ${name} is in several namespaces; here servers are told apart by name`);
};

const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'EADDRINUSE' ? `${message}; stop what uses the port, or set ports in local.yaml` : message;
};
