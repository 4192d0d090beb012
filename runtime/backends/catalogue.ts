import type { BackendStatus } from '../status-report.ts';
import { backoffMs, jittered, type Clock, type Timer } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import type { Fetch } from '../outgoing/index.ts';
import { LIST_KINDS, type ListedItem, type ListKind, type Lists } from '../listed.ts';
import { ListRefusedError, readList, type Ask } from './read-list.ts';
import type { BackendCapabilities } from './handshake.ts';
import type { BackendCall } from './session.ts';

export interface CatalogueState {
  readonly status: BackendStatus;
  /** Why it is not ready; safe to show. */
  readonly message?: string;
  /** More for the log; may name addresses. */
  readonly detail?: string;
  readonly consecutiveFailures: number;
  /** Milliseconds since the epoch; when the last attempt ended. */
  readonly checkedAt?: number;
  /** The last lists that could be had; absent until there were some. */
  readonly lists?: Lists;
}

export interface CatalogueSource {
  /** What the lists are asked over. */
  readonly link: () => Promise<ListLink>;
  /** Something went wrong: the backend may be another than it was. */
  readonly doubt: () => void;
  readonly fetch: Fetch;
  readonly silenceMs: () => number;
  /** Whether a list of this size may be kept, in place of the one before; all backends share what there is. */
  readonly hold: (bytes: number) => boolean;
}

const NONE: readonly ListedItem[] = [];

export interface ListLink {
  readonly request: (call: BackendCall & { readonly method: string }) => Promise<Buffer>;
  /** Undefined before the first request. */
  readonly opened: { readonly capabilities: BackendCapabilities } | undefined;
}

export interface CatalogueDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly onChange: () => void;
}

/** A list that succeeded is asked for again after this long (less up to a fifth, so that backends do not fall into step), so that a restarted backend heals by itself. */
const REFRESH_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Changes often come in bursts. */
const COALESCE_MS = 100;
const JITTER = 0.2;

/** Keeps one backend's list fresh over a session of its own, and its status with it. */
export class Catalogue {
  readonly #backend: string;
  readonly #source: CatalogueSource;
  readonly #deps: CatalogueDeps;
  readonly #firstListed = Promise.withResolvers<void>();
  #state: CatalogueState = { status: 'unknown', consecutiveFailures: 0 };
  #timer: Timer | undefined;
  #isRunning = false;
  /** A list has changed since the attempt began. */
  #isStale = false;
  /** The next attempt has been brought forward. */
  #isHurried = false;
  readonly #stopped = new AbortController();
  #sequence = 0;
  /** Made when first asked for, since most backends are never asked; of two tools with one name, the first. */
  #tools: { readonly of: readonly ListedItem[]; readonly byName: ReadonlyMap<string, ListedItem> } = {
    of: NONE,
    byName: new Map(),
  };

  constructor(backend: string, source: CatalogueSource, deps: CatalogueDeps) {
    this.#backend = backend;
    this.#source = source;
    this.#deps = deps;
  }

  get state(): CatalogueState {
    return this.#state;
  }

  /** The tool of this name, as it was last listed. */
  readonly tool = (name: string): ListedItem | undefined => {
    const tools = this.#state.lists?.tools ?? NONE;
    if (this.#tools.of !== tools)
      this.#tools = { of: tools, byName: new Map(tools.toReversed().map((tool) => [tool.key, tool])) };
    return this.#tools.byName.get(name);
  };

  get firstListed(): Promise<void> {
    return this.#firstListed.promise;
  }

  start(): void {
    void this.#refresh();
  }

  /** Nothing is asked for any more. The session is the backend's to close. */
  stop(): void {
    this.#stopped.abort();
    this.#timer?.cancel();
    this.#firstListed.resolve();
  }

  /** A real call has ended. When it contradicts the status, the list is asked for and decides: at once, or a second after the last time. */
  noteCall(succeeded: boolean): void {
    const isNews = succeeded !== (this.#state.status === 'ready');
    if (!isNews || this.#isHurried || this.#isRunning || this.#stopped.signal.aborted) return;
    const waitMs = (this.#state.checkedAt ?? 0) + FIRST_RETRY_MS - this.#deps.clock.now();
    if (waitMs <= 0) return void this.#refresh();
    // Once for all calls of a burst.
    this.#isHurried = true;
    this.#refreshAfter(waitMs);
  }

  /** The backend says that a list has changed: it is asked for again at once, and a second after the last time in a flood. */
  noteChange(): void {
    this.#isStale = true;
    if (this.#isHurried || this.#isRunning || this.#stopped.signal.aborted) return;
    this.#isHurried = true;
    const waitMs = (this.#state.checkedAt ?? 0) + FIRST_RETRY_MS - this.#deps.clock.now();
    this.#refreshAfter(Math.max(COALESCE_MS, waitMs));
  }

  #refreshAfter(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(ms, () => void this.#refresh());
  }

  async #refresh(): Promise<void> {
    if (this.#isRunning || this.#stopped.signal.aborted) return;
    this.#isRunning = true;
    this.#isHurried = false;
    this.#isStale = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const next = await this.#attempt();
    this.#isRunning = false;
    if (this.#stopped.signal.aborted) return;
    const isChanged = !isSameOffer(this.#state, next);
    this.#state = next;
    this.#refreshAfter(this.#delayMs());
    // It changed again while it was being read.
    if (this.#isStale) this.noteChange();
    if (isChanged) this.#deps.onChange();
    this.#firstListed.resolve();
  }

  async #attempt(): Promise<CatalogueState> {
    try {
      const lists = this.#reuse(await this.#list());
      if (!this.#source.hold(bytesOf(lists)))
        throw new VmcpError('backend_unavailable', 'the lists of all backends together are too large');
      return { status: 'ready', consecutiveFailures: 0, checkedAt: this.#deps.clock.now(), lists };
    } catch (error) {
      return this.#failed(asVmcpError(error));
    }
  }

  /** Tools first, and what the backend says it has besides. */
  async #list(): Promise<Lists> {
    const link = await this.#source.link();
    const tools = await this.#listTools(link);
    const { capabilities } = link.opened ?? {};
    const [prompts, resources, resourceTemplates] = await Promise.all(
      (['prompts', 'resources', 'resourceTemplates'] as const).map(async (kind) =>
        capabilities?.[CAPABILITY[kind]] ? this.#listKind(link, kind) : [],
      ),
    );
    return { tools, prompts: prompts ?? [], resources: resources ?? [], resourceTemplates: resourceTemplates ?? [] };
  }

  async #listTools(link: ListLink): Promise<readonly ListedItem[]> {
    const ask = this.#askOver(link);
    try {
      return await readList({ backend: this.#backend, kind: 'tools' }, ask);
    } catch (error) {
      if (link.opened?.capabilities.tools !== false) throw error;
      // A server without the tools capability may refuse the question, and simply has none; whether it lives, a ping tells.
      await ask('ping', '{}');
      return [];
    }
  }

  /** A backend that refuses one of its lists keeps the others, and what it last listed of this one. */
  async #listKind(link: ListLink, kind: ListKind): Promise<readonly ListedItem[]> {
    try {
      return await readList({ backend: this.#backend, kind }, this.#askOver(link));
    } catch (error) {
      if (error instanceof ListRefusedError) return this.#state.lists?.[kind] ?? [];
      throw error;
    }
  }

  #askOver(link: ListLink): Ask {
    return (method, params) => {
      this.#sequence += 1;
      const id = Buffer.from(`"vmcp-${this.#sequence}"`);
      const bytes = Buffer.from(
        `{"jsonrpc":"2.0","id":${id.toString('latin1')},"method":"${method}","params":${params}}`,
      );
      return link.request({
        bytes,
        id,
        method,
        silenceMs: this.#source.silenceMs(),
        isDeadline: true,
        signal: this.#stopped.signal,
        fetch: this.#source.fetch,
      });
    };
  }

  #failed(error: VmcpError): CatalogueState {
    this.#source.doubt();
    const { consecutiveFailures, lists } = this.#state;
    // A fault of ours has no detail; the log must still name it.
    const detail =
      error.detail ?? (error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : undefined);
    return {
      status: error.code === 'backend_unauthenticated' ? 'unauthenticated' : 'unavailable',
      message: error.message,
      ...(detail !== undefined && { detail }),
      consecutiveFailures: consecutiveFailures + 1,
      checkedAt: this.#deps.clock.now(),
      ...(lists && { lists }),
    };
  }

  /** What is unchanged stays the very same value, so that nothing built from it has to be built again. */
  #reuse(lists: Lists): Lists {
    const known = this.#state.lists;
    if (!known) return lists;
    const reused = Object.fromEntries(LIST_KINDS.map((kind) => [kind, unchanged(known[kind], lists[kind])])) as Lists;
    return LIST_KINDS.every((kind) => reused[kind] === known[kind]) ? known : reused;
  }

  #delayMs(): number {
    const { status, consecutiveFailures } = this.#state;
    const range = { baseMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS, jitter: JITTER };
    const { random } = this.#deps;
    return status === 'ready' ? jittered(REFRESH_MS, random, JITTER) : backoffMs(consecutiveFailures, range, random);
  }
}

const isSameOffer = (a: CatalogueState, b: CatalogueState): boolean =>
  a.status === b.status && a.message === b.message && a.lists === b.lists;

const unchanged = (known: readonly ListedItem[], listed: readonly ListedItem[]): readonly ListedItem[] => {
  const isSame =
    known.length === listed.length &&
    known.every((item, index) => listed[index] !== undefined && item.bytes.equals(listed[index].bytes));
  return isSame ? known : listed;
};

const bytesOf = (lists: Lists): number =>
  LIST_KINDS.flatMap((kind) => lists[kind]).reduce((bytes, item) => bytes + item.bytes.length, 0);

/** What a backend must advertise to be asked for a list. */
const CAPABILITY = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources',
} as const satisfies Readonly<Record<ListKind, keyof BackendCapabilities>>;
