import type { Call, Caller, SessionClient } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { LIST_CHANGED } from '../listed.ts';
import type { SavedBackendSession, ResourceSubscription } from '../store/index.ts';
import type { Backend } from './backend.ts';
import type { BackendSession } from './session.ts';
import type { Parting } from './session-settings.ts';
import type { LinkMemory } from './session-memory.ts';
import type { Watching } from '../watch-resources.ts';
import { resourceUpdated } from './small-messages.ts';

/** Subscriptions of one client session that the gateway keeps itself. */
const MAX_WATCHES = 64;

export interface SessionLinksParts {
  /** Who owns the sessions, by the token that was presented last. */
  readonly speaksFor: () => Caller;
  /** Absent: nobody has a session here whom a backend could ask or tell something between calls. */
  readonly client?: SessionClient;
  /** JSON text of what is declared by callers who have no session. */
  readonly capabilities?: Buffer;
  /** Absent: no replica but this one uses the sessions. */
  readonly memory?: LinkMemory;
}

export interface WantedWatch {
  readonly backend: Backend;
  readonly uri: string;
}

/** The warm backend sessions of one client session: at most one per backend, opened when first needed. */
export class SessionLinks {
  /** Made when first needed, as the others are: most calls of 2026-07-28 need no session. */
  #sessions: Map<Backend, BackendSession> | undefined;
  readonly #client: SessionClient | undefined;
  readonly #capabilities: Buffer | undefined;
  readonly #memory: LinkMemory | undefined;
  readonly #speaksFor: () => Caller;
  /** The subscriptions that are kept here. */
  #watches: Map<string, Watching> | undefined;
  /** When the client's own last change of each subscription was written down; infinite until it is. */
  #changedAt: Map<string, number> | undefined;
  #changes = 0;
  #parting: Parting | undefined;

  constructor({ speaksFor, client, capabilities, memory }: SessionLinksParts) {
    this.#speaksFor = speaksFor;
    this.#client = client;
    this.#capabilities = capabilities;
    this.#memory = memory;
  }

  to(backend: Backend): BackendSession {
    const known = this.#sessions?.get(backend) ?? (this.#client ? undefined : backend.shared);
    if (known) return known;
    const onClosed = (): void => void this.#sessions?.delete(backend);
    const common = { speaksFor: this.#speaksFor, client: this.#client, memory: this.#memory };
    const parts = { ...common, capabilities: this.#capabilities, onClosed };
    const session = backend.openSession(parts);
    this.#sessions ??= new Map();
    this.#sessions.set(backend, session);
    // A call may still be on its way when its client session has just ended: its backend session lives for that call only.
    const parting = this.#parting;
    if (parting) queueMicrotask(() => void session.close(parting));
    return session;
  }

  /** Goes on with what another replica has opened for the caller. */
  adopt(backend: Backend, saved: SavedBackendSession, how?: 'quietly'): void {
    this.to(backend).adopt(saved, how);
  }

  /** Subscribes to a resource of a backend that one listens to, or ends that (`resources/subscribe`, `resources/unsubscribe`). */
  async watch(
    backend: Backend,
    { method, name: uri, caller }: Pick<Call, 'method' | 'name' | 'caller'>,
  ): Promise<void> {
    const subscription = { backend: backend.name, uri };
    const key = keyOf(subscription);
    const isWanted = method === 'resources/subscribe';
    this.#noteChange(key, Infinity);
    try {
      if (!isWanted) this.#unwatch(key);
      // Taken back while it began.
      else if (!(await this.#watch(backend, uri, caller))) return;
      // Where the store is away, it holds here.
      await (isWanted ? this.#memory?.subscribe(subscription) : this.#memory?.unsubscribe(subscription))?.catch(
        () => {},
      );
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
   * Watches for the caller what is wanted, and nothing else: another replica holds the rest. `asOf` is `changes` from before it was read
   * what is wanted: what the client has changed here since stays as it is.
   */
  watchOnly(wanted: readonly WantedWatch[], caller: Caller, asOf: number): void {
    const keys = new Set(wanted.map(({ backend, uri }) => keyOf({ backend: backend.name, uri })));
    const isSettled = (key: string): boolean => (this.#changedAt?.get(key) ?? 0) <= asOf;
    for (const key of this.#watches?.keys() ?? []) if (!keys.has(key) && isSettled(key)) this.#unwatch(key);
    for (const { backend, uri } of wanted)
      if (isSettled(keyOf({ backend: backend.name, uri }))) this.#watch(backend, uri, caller).catch(() => {});
  }

  /** Rejects as `Watching` does, and with `busy` when there are too many. False: it was ended meanwhile. */
  async #watch(backend: Backend, uri: string, caller: Caller): Promise<boolean> {
    const key = keyOf({ backend: backend.name, uri });
    const watches = (this.#watches ??= new Map<string, Watching>());
    const watching = watches.get(key) ?? this.#begin(backend, uri, caller);
    try {
      await watching?.heard;
    } catch (error) {
      if (watches.get(key) === watching) this.#unwatch(key);
      throw error;
    }
    return watches.get(key) === watching;
  }

  /** Undefined when the session is over. */
  #begin(backend: Backend, uri: string, caller: Caller): Watching | undefined {
    const key = keyOf({ backend: backend.name, uri });
    const watches = (this.#watches ??= new Map<string, Watching>());
    if (this.#parting) return undefined;
    if (watches.size >= MAX_WATCHES) throw new VmcpError('busy', 'too many subscriptions; end one');
    const watching = backend.watch(uri, caller, {
      onUpdated: () => this.#client?.notify(resourceUpdated(uri)),
      onEnd: () => {
        watches.delete(key);
        // Its client may look whether the resource is still there, and subscribe to it at whatever has taken its place.
        this.#client?.notify(RESOURCES_CHANGED);
      },
    });
    watches.set(key, watching);
    return watching;
  }

  #unwatch(key: string): void {
    this.#watches?.get(key)?.stop();
    this.#watches?.delete(key);
  }

  /** The client has opened a stream of its own. */
  listen(): void {
    for (const session of this.#sessions?.values() ?? []) session.listen();
  }

  setLogLevel(level: string): void {
    for (const session of this.#sessions?.values() ?? []) session.setLogLevel(level);
  }

  /** Tells every backend that has a session open. */
  tell(notification: Buffer): void {
    for (const session of this.#sessions?.values() ?? []) session.tell(notification);
  }

  /** Ends the backend sessions after their calls, or leaves them to other replicas. Never throws. */
  async close(parting: Parting = 'end'): Promise<void> {
    this.#parting ??= parting;
    for (const { stop } of this.#watches?.values() ?? []) stop();
    this.#watches?.clear();
    if (!this.#sessions) return;
    const own = [...this.#sessions].filter(([backend, session]) => this.#client || !backend.share(session));
    await Promise.all(own.map(([, session]) => session.close(parting)));
  }
}

const RESOURCES_CHANGED = Buffer.from(`{"jsonrpc":"2.0","method":"${LIST_CHANGED.resources}"}`);

const keyOf = ({ backend, uri }: ResourceSubscription): string => `${backend} ${uri}`;
