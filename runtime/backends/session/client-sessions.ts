import type {
  BackendSessions,
  Call,
  Caller,
  ResourceListener,
  SessionClient,
  SubscriptionRights,
  Watching,
} from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { LIST_CHANGED } from '../../mcp/index.ts';
import type { SavedBackendSession, ResourceSubscription } from '../../store/index.ts';
import type { BackendCall } from '../messages/backend-call.ts';
import { HearingClient } from './hearing-client.ts';
import type { BackendSession } from './session.ts';
import type { CloseMode, SessionOptions, BackendSessionMemory } from './settings.ts';
import { resourceUpdated } from '../messages/small-messages.ts';

/** Subscriptions of one client session that the gateway keeps itself. */
const MAX_WATCHES = 64;

export interface ClientBackendSessionsParts {
  /** The owner of the sessions, by the token presented last. */
  readonly owner: () => Caller;
  /** The client session. Absent: the client has none, so backends can reach it only during calls. */
  readonly client?: SessionClient;
  /** JSON text of the capabilities of a client without a session. */
  readonly capabilities?: Buffer;
  /** Where other replicas find the sessions; absent: only this replica uses them. */
  readonly memory?: BackendSessionMemory;
  /** Absent: rights never change. */
  readonly rights?: SubscriptionRights;
  /** Listens for changes of lists that are the caller's own, until the returned function is called. */
  readonly listenForLists?: (caller: Caller) => () => void;
}

/** The part of a backend that its sessions use. */
export interface SessionBackend {
  readonly name: string;
  /** The session that all callers without one share, where the backend keeps no sessions. */
  readonly shared: BackendSession | undefined;
  readonly openSession: (options: SessionOptions) => BackendSession;
  /** Offers a session that its caller no longer needs for sharing. False when it cannot be shared. */
  readonly share: (session: BackendSession) => boolean;
  readonly watch: (uri: string, caller: Caller, listener: ResourceListener) => Watching;
}

export interface WantedWatch {
  readonly backend: SessionBackend;
  readonly uri: string;
}

/** A subscription that the gateway keeps itself. */
interface Watch extends Watching, ResourceSubscription {}

/** The warm backend sessions of one client session: at most one per backend, opened when first needed. */
export class ClientBackendSessions implements BackendSessions {
  /** Created when first needed, as the maps below: most calls of 2026-07-28 need no session. */
  #sessions: Map<SessionBackend, BackendSession> | undefined;
  readonly #client: SessionClient | undefined;
  /** The client as backends reach it. */
  readonly #hearing: HearingClient | undefined;
  readonly #rights: SubscriptionRights | undefined;
  readonly #capabilities: Buffer | undefined;
  readonly #memory: BackendSessionMemory | undefined;
  readonly #owner: () => Caller;
  readonly #listenForLists: ClientBackendSessionsParts['listenForLists'];
  #stopListening: (() => void) | undefined;
  /** The subscriptions that the gateway keeps itself. */
  #watches: Map<string, Watch> | undefined;
  /** Value of `changes` when the client's last change of each subscription was recorded; Infinity until then. */
  #changedAt: Map<string, number> | undefined;
  #changes = 0;
  #closeMode: CloseMode | undefined;
  /** The last decision about all subscriptions, or those to one resource. */
  #readmission: Promise<unknown> | undefined;

  constructor({ owner, client, capabilities, memory, rights, listenForLists }: ClientBackendSessionsParts) {
    this.#owner = owner;
    this.#listenForLists = listenForLists;
    this.#client = client;
    this.#capabilities = capabilities;
    this.#memory = memory;
    this.#rights = rights;
    if (client && rights) this.#hearing = new HearingClient(client, rights);
  }

  to(backend: SessionBackend): BackendSession {
    const known = this.#sessions?.get(backend) ?? (this.#client ? undefined : backend.shared);
    if (known) return known;
    const onClosed = (): void => void this.#sessions?.delete(backend);
    const common = { owner: this.#owner, client: this.#hearing ?? this.#client, memory: this.#memory };
    const parts = { ...common, capabilities: this.#capabilities, onClosed };
    const session = backend.openSession(parts);
    this.#sessions ??= new Map();
    this.#sessions.set(backend, session);
    // A call may still need a session just after the client session has ended: that backend session lives for the call
    // only.
    const parting = this.#closeMode;
    if (parting) queueMicrotask(() => void session.close(parting));
    return session;
  }

  /** Sends a call over the session with this backend. */
  request(backend: SessionBackend, call: BackendCall): Promise<Buffer> {
    const answer = this.to(backend).request(call);
    if (call.subscription?.kind !== 'begins') return answer;
    const uri = uriIn(call.subscription.uri);
    // Rights may have changed since the call was admitted.
    return answer.finally(() => void this.readmit(uri).catch(() => {}));
  }

  get hasSubscriptions(): boolean {
    return this.#subscriptions().length > 0;
  }

  /**
   * Decides again about every subscription, or those to one resource. What is refused ends at its backend, and the
   * client is told that resources have changed. Resolves with the number of those.
   */
  readmit(only?: string): Promise<number> {
    // One after the other, so that what ends is on record once.
    const readmission = (this.#readmission ?? Promise.resolve()).then(() => this.#decideAgain(only));
    this.#readmission = readmission.catch(() => {});
    return readmission;
  }

  async #decideAgain(only: string | undefined): Promise<number> {
    let ended = 0;
    for (const { uri, end } of this.#subscriptions()) {
      if (only !== undefined && uri !== only) continue;
      if (!this.#rights || (await this.#rights.mayKeep(uri, this.#owner()))) continue;
      end();
      ended += 1;
    }
    if (ended > 0) this.#client?.notify(RESOURCES_CHANGED);
    return ended;
  }

  #subscriptions(): readonly { readonly uri: string; readonly end: () => void }[] {
    const kept = [...(this.#watches ?? [])].map(([key, { backend, uri }]) => ({
      uri,
      end: () => {
        this.#unwatch(key);
        // Without the store, another replica that takes the subscription over decides again.
        this.#memory?.unsubscribe({ backend, uri }).catch(() => {});
      },
    }));
    const atBackends = [...(this.#sessions?.values() ?? [])].flatMap(({ subscriptions }) =>
      (subscriptions?.uris ?? []).map((uri) => ({ uri: uriIn(uri), end: () => subscriptions?.end(uri) })),
    );
    return [...kept, ...atBackends];
  }

  /** Uses the session that another replica has opened for the caller. */
  adopt(backend: SessionBackend, saved: SavedBackendSession, how?: 'quietly'): void {
    this.to(backend).adopt(saved, how);
  }

  /**
   * Subscribes to a resource of a backend of 2026-07-28, or unsubscribes (`resources/subscribe`,
   * `resources/unsubscribe`).
   */
  async watch(
    backend: SessionBackend,
    { method, name: uri, caller }: Pick<Call, 'method' | 'name' | 'caller'>,
  ): Promise<void> {
    const subscription = { backend: backend.name, uri };
    const key = keyOf(subscription);
    const isWanted = method === 'resources/subscribe';
    this.#noteChange(key, Infinity);
    try {
      if (!isWanted) this.#unwatch(key);
      // The client has unsubscribed meanwhile.
      else if (!(await this.#watch(backend, uri, caller))) return;
      // Without the store, the subscription holds at this replica.
      await (isWanted ? this.#memory?.subscribe(subscription) : this.#memory?.unsubscribe(subscription))?.catch(
        () => {},
      );
      // Rights may have changed since the call was admitted.
      if (isWanted) await this.readmit(uri);
    } finally {
      this.#changes += 1;
      this.#noteChange(key, this.#changes);
    }
  }

  #noteChange(key: string, at: number): void {
    const changedAt = (this.#changedAt ??= new Map<string, number>());
    changedAt.delete(key);
    changedAt.set(key, at);
    if (changedAt.size <= 2 * MAX_WATCHES) return;
    const [oldest] = changedAt.keys();
    if (oldest !== undefined) changedAt.delete(oldest);
  }

  /** Counts the changes that the client has made here. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Watches exactly the wanted resources for the caller: another replica watches the rest. `asOf` is the value of
   * `changes` before `wanted` was read: what the client has changed here since stays as it is.
   */
  watchOnly(wanted: readonly WantedWatch[], caller: Caller, asOf: number): void {
    const keys = new Set(wanted.map(({ backend, uri }) => keyOf({ backend: backend.name, uri })));
    const isSettled = (key: string): boolean => (this.#changedAt?.get(key) ?? 0) <= asOf;
    for (const key of this.#watches?.keys() ?? []) if (!keys.has(key) && isSettled(key)) this.#unwatch(key);
    for (const { backend, uri } of wanted)
      if (isSettled(keyOf({ backend: backend.name, uri }))) this.#watch(backend, uri, caller).catch(() => {});
  }

  /**
   * Rejects as `Watching` does, and with `busy` when there are too many subscriptions. False: the subscription was
   * ended meanwhile.
   */
  async #watch(backend: SessionBackend, uri: string, caller: Caller): Promise<boolean> {
    const key = keyOf({ backend: backend.name, uri });
    const watches = (this.#watches ??= new Map<string, Watch>());
    const watching = watches.get(key) ?? this.#begin(backend, uri, caller);
    try {
      await watching?.confirmed;
    } catch (error) {
      if (watches.get(key) === watching) this.#unwatch(key);
      throw error;
    }
    return watches.get(key) === watching;
  }

  /** Undefined when the session is over. */
  #begin(backend: SessionBackend, uri: string, caller: Caller): Watch | undefined {
    const key = keyOf({ backend: backend.name, uri });
    const watches = (this.#watches ??= new Map<string, Watch>());
    if (this.#closeMode) return undefined;
    if (watches.size >= MAX_WATCHES) throw new VmcpError('busy', 'too many subscriptions; end one');
    const begun = backend.watch(uri, caller, {
      onUpdated: () => this.#client?.notify(resourceUpdated(uri)),
      onEnd: () => {
        watches.delete(key);
        // The client may list the resources again, and subscribe to the one at the backend's replacement.
        this.#client?.notify(RESOURCES_CHANGED);
      },
    });
    const watch = { ...begun, backend: backend.name, uri };
    watches.set(key, watch);
    return watch;
  }

  #unwatch(key: string): void {
    this.#watches?.get(key)?.stop();
    this.#watches?.delete(key);
  }

  /** The client has opened a stream of its own. */
  listen(): void {
    if (!this.#closeMode) this.#stopListening ??= this.#listenForLists?.(this.#owner());
    for (const session of this.#sessions?.values() ?? []) session.listen();
  }

  setLogLevel(level: string): void {
    for (const session of this.#sessions?.values() ?? []) session.setLogLevel(level);
  }

  /** Sends a notification to every backend that has a session open. */
  notify(notification: Buffer): void {
    if (this.#closeMode) return;
    for (const session of this.#sessions?.values() ?? []) session.post(notification);
  }

  /**
   * Closes the backend sessions after their calls; they end at the backend, or are left to other replicas. Never
   * throws.
   */
  async close(parting: CloseMode = 'end'): Promise<void> {
    this.#closeMode ??= parting;
    this.#stopListening?.();
    for (const { stop } of this.#watches?.values() ?? []) stop();
    this.#watches?.clear();
    if (!this.#sessions) return;
    const own = [...this.#sessions].filter(([backend, session]) => this.#client || !backend.share(session));
    await Promise.all(own.map(([, session]) => session.close(parting)));
  }
}

/** The backend sessions of a call. Throws TypeError for an object that was not made in this room. */
export const sessionsOf = ({ backendSessions }: Pick<Call, 'backendSessions'>): ClientBackendSessions => {
  if (backendSessions instanceof ClientBackendSessions) return backendSessions;
  throw new TypeError('the backend sessions of a call come from runtime/backends');
};

const RESOURCES_CHANGED = Buffer.from(`{"jsonrpc":"2.0","method":"${LIST_CHANGED.resources}"}`);

/** The URI that a JSON text holds. */
const uriIn = (json: string): string => JSON.parse(json) as string;

const keyOf = ({ backend, uri }: ResourceSubscription): string => `${backend} ${uri}`;
