import { ByteBudget } from '../byte-budget.ts';
import { isDeepStrictEqual } from 'node:util';
import type { BackendTarget, Call, Caller, Reply } from '../call.ts';
import { atMost } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import type { ResourceListener, Watching } from '../watch-resources.ts';
import type { TaskEvents, TaskListener } from '../watch-tasks.ts';
import { Backend } from './backend.ts';
import type { CallerLists } from './caller-lists.ts';
import type { BackendDeps, BackendSettings, BackendTuning } from './backend-settings.ts';

export interface WantedBackend {
  readonly settings: BackendSettings;
  readonly tuning: BackendTuning;
}

export type BackendSetDeps = Omit<BackendDeps, 'onChange' | 'lists'>;

/** Lists are held two or three times over: as they came, renamed, and as pages. */
const ALL_LISTS_BYTES = 32 * 1024 * 1024;

/** The backends being served. */
export class BackendSet {
  readonly #deps: BackendSetDeps;
  #backends: ReadonlyMap<string, Backend> = new Map();
  /** Those that list something else to each user. */
  #dependents: readonly Backend[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #retiring = new Set<Backend>();
  readonly #lists = new ByteBudget(ALL_LISTS_BYTES);
  #isClosed = false;

  constructor(deps: BackendSetDeps) {
    this.#deps = deps;
  }

  /** Sends a call to the backend that its name leads to. */
  readonly call = (call: Call, target: BackendTarget): Promise<Reply> => this.#served(target).call(call, target);

  /** Those that list something else to each user; another value after each change of the set. */
  get dependents(): readonly Backend[] {
    return this.#dependents;
  }

  /** What those list to this user, the others left out; undefined where nothing depends on this caller. */
  listFor(caller: Caller): Promise<readonly CallerLists[]> | undefined {
    if (caller.kind !== 'user' || this.#dependents.length === 0) return undefined;
    return Promise.all(this.#dependents.map((backend) => backend.listFor(caller)));
  }

  /** Hears of updates of a resource until that is stopped. */
  readonly watch = (
    target: BackendTarget,
    { uri, caller }: { readonly uri: string; readonly caller: Caller },
    listener: ResourceListener,
  ): Watching => this.#served(target).watch(uri, caller, listener);

  /** Listens for what becomes of tasks of one backend (`taskWatcher`). */
  async watchTasks(
    targets: readonly BackendTarget[],
    listener: TaskListener,
    events: TaskEvents,
  ): Promise<ReadonlySet<string>> {
    const backend = targets[0] && this.#backends.get(targets[0].backend);
    if (!backend) return new Set();
    return backend.watchTasks(
      targets.map(({ ownName }) => ownName),
      listener,
      events,
    );
  }

  /** Hears that a backend came or went, or that its lists or its status have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #changed(): void {
    if (!this.#isClosed) for (const listener of this.#listeners) listener();
  }

  /** In the order they were wanted. */
  all(): readonly Backend[] {
    return [...this.#backends.values()];
  }

  /**
   * Makes everything that a set of exactly these needs, and returns how to change over to it, or else to give up what was made. Whatever can
   * go wrong does so before anything has changed. One whose settings have not changed keeps its connections and sessions.
   */
  prepare(wanted: readonly WantedBackend[]): { readonly change: () => void; readonly giveUp: () => void } {
    const before = this.#backends;
    const next = this.#keepOrOpenAll(wanted);
    const change = (): void => {
      this.#backends = new Map(next.map(({ backend }) => [backend.name, backend]));
      this.#dependents = this.all().filter(({ dependsOnCaller }) => dependsOnCaller);
      for (const { backend, tuning } of next) backend.tune(tuning);
      for (const backend of before.values()) {
        if (this.#backends.get(backend.name) !== backend) this.#retire(backend);
      }
      for (const { backend } of next) {
        if (before.get(backend.name) !== backend) backend.start();
      }
      this.#changed();
    };
    return { change, giveUp: () => this.#giveUp(next) };
  }

  /** Resolves once every backend's first attempt to list has ended, or it has been waited for `timeoutMs` since the backend came. */
  settled(timeoutMs: number): Promise<void> {
    return this.#waitForUnknown(({ firstListed }) => firstListed, timeoutMs);
  }

  /** Resolves once every backend has been heard of or is given up for now, at the latest as `settled`. */
  known(timeoutMs: number): Promise<void> {
    return this.#waitForUnknown(({ known }) => known, timeoutMs);
  }

  /** Resolves once every backend was asked again for its lists, which it is not more often than every 10 s; at the latest after `timeoutMs`. */
  async lookAgain(timeoutMs: number): Promise<void> {
    const looks = this.all().map((backend) => backend.lookAgain());
    await atMost(this.#deps.clock, timeoutMs, Promise.all(looks));
  }

  async #waitForUnknown(over: (backend: Backend) => Promise<void>, timeoutMs: number): Promise<void> {
    const unknown = this.all().filter(({ state }) => state.status === 'unknown');
    if (unknown.length === 0) return;
    const since = Math.max(...unknown.map(({ openedAt }) => openedAt));
    const { clock } = this.#deps;
    await atMost(clock, since + timeoutMs - clock.now(), Promise.all(unknown.map(over)));
  }

  /** Ends all sessions after their calls. `destroy` breaks off what is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.all(), ...this.#retiring].map((backend) => backend.retire()));
  }

  async destroy(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.all(), ...this.#retiring].map((backend) => backend.destroy()));
  }

  #served({ backend: name }: BackendTarget): Backend {
    const backend = this.#backends.get(name);
    if (!backend) throw new VmcpError('backend_unavailable', `backend "${name}" is no longer served`);
    return backend;
  }

  /** All of them, or none: where one cannot be made, those made before it are given up. */
  #keepOrOpenAll(wanted: readonly WantedBackend[]): readonly (WantedBackend & { readonly backend: Backend })[] {
    const next: (WantedBackend & { readonly backend: Backend })[] = [];
    try {
      for (const each of wanted)
        next.push({ ...each, backend: this.#keepOrOpen(this.#backends.get(each.settings.name), each) });
      return next;
    } catch (error) {
      this.#giveUp(next);
      throw error;
    }
  }

  #giveUp(made: readonly { readonly backend: Backend }[]): void {
    for (const { backend } of made) if (this.#backends.get(backend.name) !== backend) void backend.destroy();
  }

  #keepOrOpen(known: Backend | undefined, { settings, tuning }: WantedBackend): Backend {
    if (known && isDeepStrictEqual(known.settings, settings)) return known;
    return new Backend(settings, tuning, { ...this.#deps, lists: this.#lists, onChange: () => this.#changed() });
  }

  #retire(backend: Backend): void {
    this.#retiring.add(backend);
    void backend.retire().finally(() => this.#retiring.delete(backend));
  }
}
