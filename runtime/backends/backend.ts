import { isDeepStrictEqual } from 'node:util';
import {
  type BackendTarget,
  type Call,
  type Caller,
  callerKey,
  type CallRecord,
  type Reply,
  type ResourceListener,
  type Watching,
  type TaskEvents,
  type TaskListener,
} from '../call/index.ts';
import { Share } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { BackendCalls } from './backend-calls.ts';
import { BackendClient, PROBE } from './backend-client.ts';
import { Bulkhead } from './bulkhead.ts';
import type { Circuit } from './discovery/circuit-breaker.ts';
import { BackendWatches } from './watches/backend-watches.ts';
import { ListDiscovery, noLists } from './discovery/list-discovery.ts';
import { listenForLists } from './discovery/list-streams.ts';
import { type CallerLists, listFor, UnlistedUsers } from './discovery/user-lists.ts';
import type { BackendDeps, BackendSettings, BackendTuning, ListChange } from './backend-settings.ts';
import { ControlClient } from './discovery/control-client.ts';
import { checkParamHeaders } from './stateless/param-headers.ts';
import { type BackendState, Monitor } from './discovery/monitor.ts';
import { type ListeningFor, listenToModern, type ModernListening, type ModernStream } from './stateless/listen.ts';
import { BackendSession } from './session/session.ts';
import type { SessionOptions } from './session/settings.ts';
import { watchTasks } from './watches/task-watch.ts';

/** One backend: its connections, the sessions that use them and the connection that keeps its lists fresh. */
export class Backend {
  readonly name: string;
  readonly settings: BackendSettings;
  readonly #deps: BackendDeps;
  readonly #client: BackendClient;
  readonly #listDiscovery: Pick<ListDiscovery, 'isDue' | 'leftOut' | 'lists' | 'read'>;
  readonly #controlClient: ControlClient;
  readonly #monitor: Monitor;
  readonly #listShare: Share;
  /** Settings that all clients of the backend share. */
  readonly #common: Pick<ModernListening, 'backend' | 'path' | 'clientInfo' | 'clock'>;
  readonly #watches: BackendWatches;
  readonly #unlistedUsers = new UnlistedUsers();
  #isRetired = false;
  readonly #end = new AbortController();
  readonly #sessions = new Set<BackendSession>();
  readonly #calls: BackendCalls;
  readonly #bulkhead: Bulkhead;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  #tuning: BackendTuning;

  constructor(settings: BackendSettings, tuning: BackendTuning, deps: BackendDeps) {
    this.name = settings.name;
    this.settings = settings;
    this.#tuning = tuning;
    this.#deps = deps;
    this.openedAt = deps.clock.now();
    this.#listShare = new Share(deps.lists);
    const { pathname, search } = new URL(settings.url);
    this.#bulkhead = this.#newBulkhead();
    const { circuit } = this.#bulkhead;
    this.#client = new BackendClient(settings, { ...deps, circuit });
    const clientInfo = JSON.stringify(deps.clientInfo);
    this.#common = { backend: settings.name, path: pathname + search, clientInfo, clock: deps.clock };
    this.#listDiscovery = this.dependsOnCaller
      ? noLists
      : new ListDiscovery(settings.name, {
          fetch: this.#client.probe,
          idleTimeoutMs: () => this.#tuning.idleTimeoutMs,
          // Lists that arrive after the end are not kept, so they need no room.
          hold: (bytes) => this.#isRetired || this.#listShare.resize(bytes),
        });
    this.#controlClient = new ControlClient({
      ...this.#common,
      // HTTP+SSE was never part of a later revision than those with sessions.
      mayBeModern: settings.transport !== 'sse' && settings.era !== 'legacy',
      mayHaveSessions: settings.era !== 'modern',
      fetch: this.#client.probe,
      openSession: () => this.openSession({ owner: () => PROBE, purpose: 'listChanges' }),
      listen: () =>
        listenForLists(this.dependsOnCaller ? deps.listeningUsers : undefined, {
          listen: (caller, what) => this.#listenToModern(caller, what),
          onChange: (caller, change) => this.#noteListChange(() => caller, change),
        }),
    });
    this.#calls = new BackendCalls({
      backend: this,
      clientInfo,
      controlClient: this.#controlClient,
      idleTimeoutMs: () => this.#tuning.idleTimeoutMs,
    });
    this.#watches = new BackendWatches({
      backend: settings.name,
      clock: deps.clock,
      limit: deps.limits.watches,
      circuit,
      idleTimeoutMs: () => this.#tuning.idleTimeoutMs,
      isModern: () => this.#controlClient.modern !== undefined,
      openSession: (client) => this.openSession({ owner: () => client.caller, client }),
      fetchFor: (caller) => this.#client.fetchFor(caller),
      listen: (caller, what) => this.#listenToModern(caller, what),
    });
    this.#monitor = new Monitor({
      ...deps,
      backend: settings.name,
      check: (signal, health) => this.#controlClient.check(signal, health),
      listDiscovery: this.#listDiscovery,
      settings: () => this.#tuning.health,
      circuit,
    });
  }

  #newBulkhead(): Bulkhead {
    return new Bulkhead({
      ...this.#deps,
      backend: this.name,
      tuning: () => this.#tuning,
      onHeld: () => this.#monitor.hold(),
      onReleased: () => this.#monitor.release(),
      onDoubted: () => this.#monitor.recheck(),
    });
  }

  /** Whether the backend's lists may differ by user. */
  get dependsOnCaller(): boolean {
    return this.#client.dependsOnCaller;
  }

  /** Status and last good list. */
  get state(): BackendState {
    return this.#monitor.state;
  }

  /** Undefined where the circuit breaker is turned off. */
  get circuit(): Circuit | undefined {
    return this.#bulkhead.circuit.circuit;
  }

  /** Calls, and lists read for users, that are under way. */
  get callsUnderWay(): number {
    return this.#bulkhead.count;
  }

  /** Resolves once the first check has ended, and the first attempt to list with it. */
  get firstListed(): Promise<void> {
    return this.#monitor.firstRound;
  }

  /** What look-ups wait for (`Monitor`). */
  get listing(): Pick<Monitor, 'checkUnlisted' | 'refreshLists' | 'statusKnown'> {
    return this.#monitor;
  }

  start(): void {
    this.#monitor.start();
  }

  tune(tuning: BackendTuning): void {
    const isMonitoredAnew = !isDeepStrictEqual(tuning.health, this.#tuning.health);
    this.#tuning = tuning;
    this.#bulkhead.circuit.configure(tuning.circuitBreaker);
    if (isMonitoredAnew) this.#monitor.reschedule();
  }

  /** Makes a session; nothing is sent before its first request. */
  openSession({ owner, client, capabilities, memory, onClosed, purpose }: SessionOptions): BackendSession {
    const { clock, clientInfo, random } = this.#deps;
    const session: BackendSession = new BackendSession(
      {
        backend: this.name,
        url: this.settings.url,
        transport: this.settings.transport,
        clientInfo,
        random,
        fetch: this.#client.fetchForOwner(owner),
        mayReopen: () => this.#bulkhead.circuit.isClosed,
        onListChanged: () => this.#noteListChange(owner),
        ...(client && { client }),
        capabilities,
        // A session over HTTP+SSE ends with its stream, so other replicas cannot use it.
        ...(memory && this.settings.transport !== 'sse' && { memory }),
        purpose,
      },
      clock,
      () => {
        this.#sessions.delete(session);
        onClosed?.();
      },
    );
    this.#sessions.add(session);
    return session;
  }

  /** The lists are the user's where they depend on the caller, else the shared ones. */
  #noteListChange(owner: () => Caller, change: ListChange = 'told'): void {
    if (this.dependsOnCaller) this.#deps.onListsChangedFor?.(owner(), change);
    else this.#monitor.noteChange();
  }

  #listenToModern(caller: Caller, what: ListeningFor): ModernStream {
    const { random } = this.#deps;
    return listenToModern({ ...this.#common, random, fetch: this.#client.fetchFor(caller), ...what });
  }

  /** Watches a resource until the returned watch is stopped. */
  watch(uri: string, caller: Caller, listener: ResourceListener): Watching {
    return this.#watches.watch(uri, caller, listener);
  }

  /** See `watchTasks`; a backend of an earlier revision acknowledges none. */
  watchTasks(ownIds: readonly Buffer[], listener: TaskListener, events: TaskEvents): Promise<ReadonlySet<string>> {
    if (!this.#controlClient.modern) return Promise.resolve(new Set());
    const { caller, capabilities } = listener;
    const { signal: end } = this.#end;
    return watchTasks({ ...this.#common, ...events, ownIds, capabilities, end, fetch: this.#client.fetchFor(caller) });
  }

  /**
   * Sends the call over the caller's own session under the tool's own name; exactly one request when the session is
   * warm. What came of the credential is noted in the record.
   */
  async call(call: Call, target: BackendTarget, record?: CallRecord): Promise<Reply> {
    checkParamHeaders(call, target);
    const { length: bytes } = call.request.bytes;
    const begun = this.#bulkhead.begin(call.caller, bytes);
    try {
      const turn = this.#bulkhead.turn(begun, call.signal);
      if (turn) await turn;
      const body = await this.#calls.send(call, { target, fetch: this.#client.fetchForCall(call, record) });
      this.#bulkhead.succeeded(begun, bytes);
      this.#monitor.noteAnswer();
      return { kind: 'whole', status: 200, body };
    } catch (error) {
      this.#bulkhead.failed(begun, error, bytes);
      // The backend may have been replaced; the checks notice by themselves when it is unreachable.
      if (error instanceof VmcpError && error.code === 'backend_unavailable') this.#monitor.recheck();
      throw error;
    }
  }

  /** The session that all callers without one share, where the backend keeps no sessions. */
  get shared(): BackendSession | undefined {
    return this.#calls.shared;
  }

  /** Shares a session that its caller no longer needs. False when it cannot be shared. */
  share(session: BackendSession): boolean {
    return !this.#isRetired && !this.dependsOnCaller && this.#calls.share(session);
  }

  /** Users, of those who were listed last, who could not be listed for want of a credential. */
  get usersWithoutCredential(): number {
    return this.#unlistedUsers.size;
  }

  /** The lists of the backend for this user. Takes a bounded time; a failure shows in the status. */
  async listFor(caller: Caller): Promise<CallerLists> {
    const lists = await this.#bulkhead.list(caller, () =>
      listFor({
        backend: this.name,
        clock: this.#deps.clock,
        idleTimeoutMs: this.#tuning.idleTimeoutMs,
        fetch: this.#client.fetchFor(caller),
        link: async (bounds) =>
          (await this.#controlClient.listSource(bounds)) ?? this.openSession({ owner: () => caller, purpose: 'lists' }),
      }),
    );
    this.#unlistedUsers.note(callerKey(caller), lists.status === 'unauthenticated');
    return lists;
  }

  /** Ends every session after its calls, then the connections. */
  async retire(): Promise<void> {
    this.#monitor.stop();
    this.#bulkhead.circuit.stop();
    this.#end.abort();
    this.#isRetired = true;
    this.#controlClient.stop();
    this.#watches.end();
    this.#listShare.release();
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await this.#client.close();
  }

  /** Aborts whatever is still under way. */
  async destroy(): Promise<void> {
    this.#monitor.stop();
    this.#bulkhead.circuit.stop();
    this.#end.abort();
    this.#controlClient.stop();
    await this.#client.destroy();
  }
}
