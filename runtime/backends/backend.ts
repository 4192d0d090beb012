import { isDeepStrictEqual } from 'node:util';
import type { BackendTarget, Call, Caller, Reply, SessionClient } from '../call.ts';
import { Share } from '../byte-budget.ts';
import { argumentsOf } from '../call-arguments.ts';
import { VmcpError } from '../errors.ts';
import { BackendCalls } from './backend-calls.ts';
import { BackendClient, PROBE } from './backend-client.ts';
import { BackendWatches } from './backend-watches.ts';
import { Catalogue, noLists } from './catalogue.ts';
import { type CallerLists, listFor } from './caller-lists.ts';
import type { BackendDeps, BackendSettings, BackendTuning } from './backend-settings.ts';
import { GatewayLink } from './gateway-link.ts';
import { checkParamHeaders } from './param-headers.ts';
import { type BackendState, Monitor } from './monitor.ts';
import { listenToModern, type ModernListening, type ModernStream } from './modern-listening.ts';
import { BackendSession } from './session.ts';
import type { LinkMemory } from './session-memory.ts';
import type { SessionSettings } from './session-settings.ts';
import { watchTasks } from './task-watch.ts';
import type { ResourceListener, Watching } from '../watch-resources.ts';
import type { TaskEvents, TaskListener } from '../watch-tasks.ts';

interface SessionOptions {
  /** Who owns the session, by the token that was presented last. */
  readonly speaksFor: () => Caller;
  /** Whom the session is for. */
  readonly client?: SessionClient | undefined;
  /** As `SessionSettings` has it. */
  readonly capabilities?: Buffer | undefined;
  readonly memory?: LinkMemory | undefined;
  readonly onClosed?: () => void;
  readonly purpose?: SessionSettings['purpose'];
}

/** One backend: its connections, the sessions that use them and the catalogue connection that keeps its lists fresh. */
export class Backend {
  readonly settings: BackendSettings;
  readonly #deps: BackendDeps;
  readonly #client: BackendClient;
  readonly #catalogue: Pick<Catalogue, 'isDue' | 'leftOut' | 'lists' | 'read'>;
  readonly #own: GatewayLink;
  readonly #monitor: Monitor;
  readonly #listShare: Share;
  /** What everything that speaks to it needs. */
  readonly #common: Pick<ModernListening, 'backend' | 'path' | 'clientInfo' | 'clock'>;
  readonly #watches: BackendWatches;
  #isRetired = false;
  readonly #end = new AbortController();
  readonly #sessions = new Set<BackendSession>();
  readonly #calls: BackendCalls;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  #tuning: BackendTuning;

  constructor(settings: BackendSettings, tuning: BackendTuning, deps: BackendDeps) {
    this.settings = settings;
    this.#tuning = tuning;
    this.#deps = deps;
    this.openedAt = deps.clock.now();
    this.#listShare = new Share(deps.lists);
    const { pathname, search } = new URL(settings.url);
    this.#client = new BackendClient(settings, deps);
    const clientInfo = JSON.stringify(deps.clientInfo);
    this.#common = { backend: settings.name, path: pathname + search, clientInfo, clock: deps.clock };
    this.#catalogue = this.dependsOnCaller
      ? noLists
      : new Catalogue(settings.name, {
          fetch: this.#client.probe,
          silenceMs: () => this.#tuning.silenceMs,
          // A list that arrives after the end is kept by nobody.
          hold: (bytes) => this.#isRetired || this.#listShare.resize(bytes),
        });
    this.#own = new GatewayLink({
      ...this.#common,
      // HTTP+SSE was never part of a later revision than those with sessions.
      mayBeModern: settings.transport !== 'sse' && settings.era !== 'legacy',
      mayHaveSessions: settings.era !== 'modern',
      fetch: this.#client.probe,
      openSession: () => this.openSession({ speaksFor: () => PROBE, purpose: 'listChanges' }),
      // Where each user is listed something else, the gateway by itself has nothing to hear of.
      listen: () =>
        this.dependsOnCaller
          ? () => {}
          : this.#listenToModern(PROBE, { filter: ALL_LISTS, onListChanged: () => this.#monitor.noteChange() }).stop,
    });
    this.#calls = new BackendCalls({
      backend: this,
      clientInfo,
      own: this.#own,
      silenceMs: () => this.#tuning.silenceMs,
    });
    this.#watches = new BackendWatches({
      backend: settings.name,
      clock: deps.clock,
      limit: deps.limits.watches,
      silenceMs: () => this.#tuning.silenceMs,
      isModern: () => this.#own.modern !== undefined,
      openSession: (client) => this.openSession({ speaksFor: () => client.caller, client }),
      fetchFor: (caller) => this.#client.fetchFor(caller),
      listen: (caller, what) => this.#listenToModern(caller, what),
    });
    this.#monitor = new Monitor({
      ...deps,
      backend: settings.name,
      check: (signal, health) => this.#own.check(signal, health),
      catalogue: this.#catalogue,
      settings: () => this.#tuning.health,
    });
  }

  get name(): string {
    return this.settings.name;
  }

  /** Each user is shown what the backend lists to that user. */
  get dependsOnCaller(): boolean {
    return this.#client.dependsOnCaller;
  }

  /** Status and last good list. */
  get state(): BackendState {
    return this.#monitor.state;
  }

  /** Resolves once the first check has ended, and the first attempt to list with it. */
  get firstListed(): Promise<void> {
    return this.#monitor.firstRound;
  }

  /** Resolves once it has been heard of, or is given up for now. */
  get known(): Promise<void> {
    return this.#monitor.known;
  }

  start(): void {
    this.#monitor.start();
  }

  /** Resolves once its lists were read again, those not that were read only just. */
  lookAgain(): Promise<void> {
    return this.#monitor.lookAgain();
  }

  tune(tuning: BackendTuning): void {
    const isMonitoredAnew = !isDeepStrictEqual(tuning.health, this.#tuning.health);
    this.#tuning = tuning;
    if (isMonitoredAnew) this.#monitor.reschedule();
  }

  /** A session that nothing has been sent on yet. */
  openSession({ speaksFor, client, capabilities, memory, onClosed, purpose }: SessionOptions): BackendSession {
    const { clock, clientInfo, random } = this.#deps;
    const session: BackendSession = new BackendSession(
      {
        backend: this.name,
        url: this.settings.url,
        transport: this.settings.transport,
        clientInfo,
        random,
        fetch: this.#client.fetchForOwner(speaksFor),
        onListChanged: () => this.#monitor.noteChange(),
        ...(client && { client }),
        capabilities,
        // What ends with a stream of this replica cannot be gone on with by another.
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

  #listenToModern(caller: Caller, what: Pick<ModernListening, 'filter' | 'onListChanged' | 'notify'>): ModernStream {
    const { random } = this.#deps;
    return listenToModern({ ...this.#common, random, fetch: this.#client.fetchFor(caller), ...what });
  }

  /** Hears of updates of a resource until that is stopped. */
  watch(uri: string, caller: Caller, listener: ResourceListener): Watching {
    return this.#watches.watch(uri, caller, listener);
  }

  /** As `watchTasks` has it; an earlier backend tells of none. */
  watchTasks(ownIds: readonly Buffer[], listener: TaskListener, events: TaskEvents): Promise<ReadonlySet<string>> {
    if (!this.#own.modern) return Promise.resolve(new Set());
    const { caller, capabilities } = listener;
    const { signal: end } = this.#end;
    return watchTasks({ ...this.#common, ...events, ownIds, capabilities, end, fetch: this.#client.fetchFor(caller) });
  }

  /** Sends the call over the caller's own session under the tool's own name; exactly one request when the session is warm. */
  async call(call: Call, target: BackendTarget): Promise<Reply> {
    checkHeaders(call, target);
    try {
      const body = await this.#calls.send(call, { target, fetch: this.#client.fetchFor(call.caller) });
      this.#monitor.noteAnswer();
      return { kind: 'whole', status: 200, body };
    } catch (error) {
      // It may have become another; that it cannot be reached, its checks will tell.
      if (error instanceof VmcpError && error.code === 'backend_unavailable') this.#monitor.noteOddity();
      throw error;
    }
  }

  /** The session that all callers without one use, where the backend keeps none. */
  get shared(): BackendSession | undefined {
    return this.#calls.shared;
  }

  /** Takes over a session that its caller is done with. False when it is of no use to others. */
  share(session: BackendSession): boolean {
    return !this.#isRetired && !this.dependsOnCaller && this.#calls.share(session);
  }

  /** What the backend lists to this user. Takes a bounded time; a failure is told by the status. */
  listFor(caller: Caller): Promise<CallerLists> {
    return listFor({
      backend: this.name,
      clock: this.#deps.clock,
      silenceMs: this.#tuning.silenceMs,
      fetch: this.#client.fetchFor(caller),
      link: async (bounds) =>
        (await this.#own.listLink(bounds)) ?? this.openSession({ speaksFor: () => caller, purpose: 'lists' }),
    });
  }

  /** Ends every session after its calls, then the connections. */
  async retire(): Promise<void> {
    this.#monitor.stop();
    this.#end.abort();
    this.#isRetired = true;
    this.#own.stop();
    this.#watches.end();
    this.#listShare.release();
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await this.#client.close();
  }

  /** Breaks off whatever is still under way. */
  async destroy(): Promise<void> {
    this.#monitor.stop();
    this.#end.abort();
    this.#own.stop();
    await this.#client.destroy();
  }
}

/** Others on the way may have judged the call by headers that repeat its arguments. */
const checkHeaders = (call: Call, { listed }: BackendTarget): void => {
  if (call.headers && call.method === 'tools/call' && listed)
    checkParamHeaders(listed, () => argumentsOf(call.request), call.headers);
};

const ALL_LISTS = '{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}';
