import { ByteBudget, atMost } from '../process/index.ts';
import { isDeepStrictEqual } from 'node:util';
import type { BackendTarget, Caller, ResourceListener, Watching, TaskEvents, TaskListener } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { Backend } from './backend.ts';
import { ListeningUsers } from './discovery/listening-users.ts';
import type { CallerLists } from './discovery/user-lists.ts';
import type { BackendDeps, BackendSettings, BackendTuning, ListChange } from './backend-settings.ts';

export interface WantedBackend {
  readonly settings: BackendSettings;
  readonly tuning: BackendTuning;
}

export type BackendSetDeps = Omit<BackendDeps, 'onChange' | 'onListsChangedFor' | 'listeningUsers' | 'lists'>;

/** Called with the backend whose lists, as this caller sees them, may have changed. */
type OnListsChangedFor = (caller: Caller, change: ListChange, backend: string) => void;

/** What backends list to a user. */
interface UserListing {
  readonly all: Promise<readonly CallerLists[]>;
  readonly only: (needed: ReadonlySet<string>) => Promise<readonly CallerLists[]>;
}

/** Bytes of all backends' lists. Memory use is two or three times that: as received, renamed, and as pages. */
const ALL_LISTS_BYTES = 32 * 1024 * 1024;

/** The backends being served. */
export class BackendSet {
  readonly #deps: BackendSetDeps;
  #backends: ReadonlyMap<string, Backend> = new Map();
  /** Backends whose lists differ by user. */
  #dependents: readonly Backend[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #userListeners = new Set<OnListsChangedFor>();
  readonly #listeningUsers = new ListeningUsers();
  readonly #retiring = new Set<Backend>();
  readonly #lists = new ByteBudget(ALL_LISTS_BYTES);
  #isClosed = false;

  constructor(deps: BackendSetDeps) {
    this.#deps = deps;
  }

  /** Sends a call to the backend that the catalog found for its name. */
  readonly call: Backend['call'] = (call, target, record) => this.#served(target).call(call, target, record);

  /** Backends whose lists differ by user; a new array after each change of the set. */
  get dependents(): readonly Backend[] {
    return this.#dependents;
  }

  /**
   * The lists of the `dependents` for this user, or of those in `names`: of all, and of some without waiting for the
   * others. Undefined for a caller that is no user, and where there are none.
   */
  listFor(caller: Caller, names?: ReadonlySet<string>): UserListing | undefined {
    const asked = names ? this.#dependents.filter(({ name }) => names.has(name)) : this.#dependents;
    if (caller.kind !== 'user' || asked.length === 0) return undefined;
    const lists = asked.map((backend) => ({ name: backend.name, own: backend.listFor(caller) }));
    const those = (listed: typeof lists): UserListing['all'] => Promise.all(listed.map(({ own }) => own));
    return { all: those(lists), only: (needed) => those(lists.filter(({ name }) => needed.has(name))) };
  }

  /** Watches a resource until the returned watch is stopped. */
  readonly watch = (
    target: BackendTarget,
    { uri, caller }: { readonly uri: string; readonly caller: Caller },
    listener: ResourceListener,
  ): Watching => this.#served(target).watch(uri, caller, listener);

  /** Listens for task notifications of one backend (`taskWatcher`). */
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

  /** Calls `listener` when a backend was added or removed, or its lists or status have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Calls `listener` when lists that are a user's own may have changed. */
  onListsChangedFor(listener: OnListsChangedFor): void {
    this.#userListeners.add(listener);
  }

  readonly #changedFor: OnListsChangedFor = (caller, change, backend) => {
    if (!this.#isClosed) for (const listener of this.#userListeners) listener(caller, change, backend);
  };

  /**
   * Listens for changes of lists that are the caller's own, at backends of 2026-07-28, until the returned function is
   * called: a client of the caller wants to know of them. At others, sessions hear of them.
   */
  readonly listenForLists = (caller: Caller): (() => void) => this.#listeningUsers.add(caller);

  #changed(): void {
    if (!this.#isClosed) for (const listener of this.#listeners) listener();
  }

  /** All backends, in the order of the last `prepare`. */
  all(): readonly Backend[] {
    return [...this.#backends.values()];
  }

  /**
   * Creates the backends that the wanted set needs. `change` switches to the set, `giveUp` destroys what was created.
   * All errors are thrown before anything has changed. A backend whose settings have not changed keeps its connections
   * and sessions.
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

  /**
   * Resolves once every backend's first attempt to list has ended, at the latest `timeoutMs` after the newest such
   * backend was created.
   */
  firstListed(timeoutMs: number): Promise<void> {
    return this.#waitForUnknown(({ firstListed }) => firstListed, timeoutMs);
  }

  /** Resolves once no backend's status is `unknown`, at the latest as `settled`. */
  statusKnown(timeoutMs: number): Promise<void> {
    return this.#waitForUnknown(({ listing }) => listing.statusKnown, timeoutMs);
  }

  /** Resolves once every backend's lists were read again, at most every 10 s; at the latest after `timeoutMs`. */
  async refreshLists(timeoutMs: number): Promise<void> {
    const looks = this.all().map((backend) => backend.listing.refreshLists());
    await atMost(this.#deps.clock, timeoutMs, Promise.all(looks));
  }

  /**
   * Resolves once those that were never listed of these backends were checked again; at most after `timeoutMs`. Those
   * whose lists depend on the caller have no shared ones to wait for.
   */
  async checkUnlisted(names: ReadonlySet<string>, timeoutMs: number): Promise<void> {
    const shared = this.all().filter(({ name, dependsOnCaller }) => names.has(name) && !dependsOnCaller);
    const checks = shared.map(({ listing }) => listing.checkUnlisted());
    await atMost(this.#deps.clock, timeoutMs, Promise.all(checks));
  }

  async #waitForUnknown(over: (backend: Backend) => Promise<void>, timeoutMs: number): Promise<void> {
    const unknown = this.all().filter(({ state }) => state.status === 'unknown');
    if (unknown.length === 0) return;
    const since = Math.max(...unknown.map(({ openedAt }) => openedAt));
    const { clock } = this.#deps;
    await atMost(clock, since + timeoutMs - clock.now(), Promise.all(unknown.map(over)));
  }

  /** Ends all sessions after their calls. `destroy` aborts what is left. */
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

  /** All of them, or none: where one cannot be created, those created before it are destroyed. */
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
    return new Backend(settings, tuning, {
      ...this.#deps,
      lists: this.#lists,
      onChange: () => this.#changed(),
      onListsChangedFor: (caller, change) => this.#changedFor(caller, change, settings.name),
      listeningUsers: this.#listeningUsers,
    });
  }

  #retire(backend: Backend): void {
    this.#retiring.add(backend);
    void backend.retire().finally(() => this.#retiring.delete(backend));
  }
}
