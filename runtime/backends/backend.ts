import type { Call, Caller, Reply, SessionClient } from '../call.ts';
import { Share, type ByteBudget } from '../byte-budget.ts';
import type { Clock } from '../clock.ts';
import type { StrategyConfig } from '../config/index.ts';
import { VmcpError } from '../errors.ts';
import { connectStrategy, type Fetch, type Prove } from '../outgoing/index.ts';
import { Catalogue, type CatalogueState, type ListLink } from './catalogue.ts';
import { openConnection, type Connection, type ConnectionLimits } from './connection.ts';
import { probeEra } from './era-probe.ts';
import { argumentsOf, callModern } from './modern-call.ts';
import { checkParamHeaders } from './param-headers.ts';
import { readString } from '../json-bytes.ts';
import { modernListLink, ModernLink } from './modern-link.ts';
import { legacyRequest } from './request-edits.ts';
import { listenToModern, subscribe, updatedUri, watcher, type ModernListening } from './resource-watch.ts';
import { emptyResponse } from './small-messages.ts';
import { BackendSession } from './session.ts';
import type { LinkMemory } from './session-memory.ts';

/** A backend that differs in any of these is another backend. */
export interface BackendSettings {
  readonly name: string;
  readonly url: string;
  /** How it is told who is calling. */
  readonly strategy: StrategyConfig;
}

/** What may change while a backend keeps its connections. */
export interface BackendTuning {
  /** Longest silence of a call. */
  readonly silenceMs: number;
}

export interface BackendDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly limits: ConnectionLimits;
  readonly answers: ByteBudget;
  /** Shared by the lists of all backends. */
  readonly lists: ByteBudget;
  /** Called after the backend's list or status has changed. */
  readonly onChange: () => void;
}

interface SessionOptions {
  /** Whom the session is for. */
  readonly client?: SessionClient | undefined;
  readonly memory?: LinkMemory | undefined;
  readonly onClosed?: () => void;
  /** It is there to hear of changed lists. */
  readonly hearsOfLists?: true;
}

const PROBE: Caller = { kind: 'probe' };

/** One backend: its connections, the sessions that use them and the catalogue connection that keeps its lists fresh. */
export class Backend {
  readonly settings: BackendSettings;
  /** Proves to the backend who is calling. */
  readonly prove: Prove;
  readonly #deps: BackendDeps;
  readonly #connection: Connection;
  readonly #catalogue: Catalogue;
  readonly #listShare: Share;
  /** Of the endpoint, with its query. */
  readonly #path: string;
  /** JSON text. */
  readonly #clientInfo: string;
  #isRetired = false;
  /** It is known which revisions the backend speaks: while it is undefined, those before 2026-07-28. */
  #isProbed = false;
  #modern: ModernLink | undefined;
  #listSession: BackendSession | undefined;
  #stopListening: (() => void) | undefined;
  readonly #sessions = new Set<BackendSession>();
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  #tuning: BackendTuning;

  constructor(settings: BackendSettings, tuning: BackendTuning, deps: BackendDeps) {
    this.settings = settings;
    this.prove = connectStrategy(settings.strategy);
    this.#tuning = tuning;
    this.#deps = deps;
    this.openedAt = deps.clock.now();
    this.#listShare = new Share(deps.lists);
    const { origin, pathname, search } = new URL(settings.url);
    this.#path = pathname + search;
    this.#clientInfo = JSON.stringify(deps.clientInfo);
    this.#connection = openConnection(origin, deps.limits, deps);
    this.#catalogue = new Catalogue(
      settings.name,
      {
        link: () => this.#listLink(),
        doubt: () => {
          this.#isProbed = false;
        },
        fetch: this.prove(PROBE)(this.#control),
        silenceMs: () => this.#tuning.silenceMs,
        // A list that arrives after the end is kept by nobody.
        hold: (bytes) => this.#isRetired || this.#listShare.resize(bytes),
      },
      { clock: deps.clock, random: deps.random, onChange: deps.onChange },
    );
  }

  readonly #control: Fetch = (request) => this.#connection.fetch({ ...request, lane: 'control' });

  get name(): string {
    return this.settings.name;
  }

  /** Status and last good list. */
  get state(): CatalogueState {
    return this.#catalogue.state;
  }

  /** Resolves once the first attempt to list has ended. */
  get firstListed(): Promise<void> {
    return this.#catalogue.firstListed;
  }

  start(): void {
    this.#catalogue.start();
  }

  tune(tuning: BackendTuning): void {
    this.#tuning = tuning;
  }

  /** A session that nothing has been sent on yet. */
  openSession({ client, memory, onClosed, hearsOfLists }: SessionOptions = {}): BackendSession {
    const { clock, clientInfo, random } = this.#deps;
    const session: BackendSession = new BackendSession(
      {
        backend: this.name,
        url: this.settings.url,
        clientInfo,
        random,
        onListChanged: () => this.#catalogue.noteChange(),
        ...(client && { client }),
        ...(memory && { memory }),
        ...(hearsOfLists && { hearsOfLists }),
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

  /** What speaks for the caller outside its calls. */
  fetchFor(caller: Caller): Fetch {
    return this.prove(caller)(this.#connection.fetch);
  }

  /** What the lists are asked over, once it is known which revisions the backend speaks. */
  async #listLink(): Promise<ListLink> {
    if (!this.#isProbed) await this.#probe();
    if (this.#modern) return modernListLink(this.#modern, this.#clientInfo);
    return (this.#listSession ??= this.openSession({ hearsOfLists: true }));
  }

  async #probe(): Promise<void> {
    const { clock } = this.#deps;
    const settings = { backend: this.name, path: this.#path, clientInfo: this.#clientInfo };
    const probed = await probeEra(settings, this.prove(PROBE)(this.#control), clock);
    this.#isProbed = probed.era !== 'undecided';
    if (probed.era === 'undecided') return;
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#modern = probed.era === 'modern' ? new ModernLink({ ...settings, ...probed }, clock) : undefined;
    if (probed.era === 'modern' && probed.capabilities.listChanged && !this.#isRetired)
      this.#stopListening = this.#listenToModern(PROBE, {
        filter: '{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}',
        onListChanged: () => this.#catalogue.noteChange(),
      });
  }

  #listenToModern(caller: Caller, what: Pick<ModernListening, 'filter' | 'onListChanged' | 'notify'>): () => void {
    const { clock, random } = this.#deps;
    return listenToModern({
      backend: this.name,
      path: this.#path,
      clock,
      random,
      clientInfo: this.#clientInfo,
      fetch: this.fetchFor(caller),
      ...what,
    });
  }

  /** Hears of updates of a resource until the returned function is called. */
  watch(uri: string, caller: Caller, onUpdated: () => void): () => void {
    if (this.#modern)
      return this.#listenToModern(caller, {
        filter: JSON.stringify({ resourceSubscriptions: [uri] }),
        notify: (notification) => {
          if (updatedUri(notification) === uri) onUpdated();
        },
      });
    const session = this.openSession({ client: watcher(uri, onUpdated) });
    return subscribe(session, { uri, fetch: this.fetchFor(caller), silenceMs: this.#tuning.silenceMs });
  }

  /** Sends the call over the caller's own session under the tool's own name; exactly one request when the session is warm. */
  async call(call: Call, ownName: Buffer, prove: (next: Fetch) => Fetch): Promise<Reply> {
    this.#checkHeaders(call, ownName);
    try {
      const fetch = prove(this.#connection.fetch);
      const body = await (this.#modern
        ? this.#callModern(this.#modern, call, { ownName, fetch })
        : this.#callLegacy(call, { ownName, fetch }));
      this.#catalogue.noteCall(true);
      return { kind: 'whole', status: 200, body };
    } catch (error) {
      // Any other failure may be the caller's doing, and says nothing about the backend.
      if (error instanceof VmcpError && error.code === 'backend_unreachable') this.#catalogue.noteCall(false);
      throw error;
    }
  }

  #callLegacy(call: Call, { ownName, fetch }: { readonly ownName: Buffer; readonly fetch: Fetch }): Promise<Buffer> {
    return call.links.to(this).request({
      bytes: legacyRequest(call, ownName),
      id: call.request.id,
      silenceMs: this.#tuning.silenceMs,
      signal: call.signal,
      client: call.client,
      fetch,
    });
  }

  #callModern(
    link: ModernLink,
    call: Call,
    { ownName, fetch }: { readonly ownName: Buffer; readonly fetch: Fetch },
  ): Promise<Buffer> {
    // A client of an earlier revision subscribes; here one listens.
    if (call.method === 'resources/subscribe' || call.method === 'resources/unsubscribe') {
      call.links.watch(this, call);
      return Promise.resolve(emptyResponse(call.request.id));
    }
    return callModern(call, ownName, {
      backend: this.name,
      link,
      clientInfo: this.#clientInfo,
      silenceMs: this.#tuning.silenceMs,
      fetch,
      tool: this.#catalogue.tool,
    });
  }

  /** Others on the way may have judged the call by headers that repeat its arguments. */
  #checkHeaders(call: Call, ownName: Buffer): void {
    if (!call.headers || call.method !== 'tools/call') return;
    const tool = this.#catalogue.tool(readString(ownName, { start: 0, end: ownName.length }));
    if (tool) checkParamHeaders(tool, () => argumentsOf(call), call.headers);
  }

  /** Ends every session after its calls, then the connections. */
  async retire(): Promise<void> {
    this.#catalogue.stop();
    this.#isRetired = true;
    this.#stopListening?.();
    this.#listShare.release();
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await this.#connection.close();
  }

  /** Breaks off whatever is still under way. */
  async destroy(): Promise<void> {
    this.#catalogue.stop();
    this.#stopListening?.();
    await this.#connection.destroy();
  }
}
