import type { ListPages } from '../catalog/index.ts';
import { nextTurn } from '../process/index.ts';
import { pauses } from './pauses.ts';
import { ReadTools, type ToolEntry } from './read-tools.ts';
import { serverOf } from './server-summary.ts';
import type { Selection, ToolIndex } from './search/index.ts';
import { type UserList, UserTools } from './user-tools.ts';

/** A list of tools as the catalog has it: the same value as long as nothing in it changes. */
export type ToolList = Pick<ListPages, 'entries'>;

/** Passes over a user's list in one search, while the shared tools change. */
const MOST_PASSES = 2;

const NONE: ToolList = { entries: [] };

/** Brings the index to one state of the shared tools. */
interface Pass {
  readonly wanted: ToolList;
  readonly done: Promise<void>;
}

/**
 * Keeps the index to the tools that there are: those of the catalog that all callers share, and those that only single
 * users are offered, once they search. Each text is read once. Lists are not kept: the catalog decides how long.
 */
export class IndexedTools {
  readonly #index: ToolIndex;
  readonly #onChange: () => void;
  readonly #tools = new ReadTools();
  readonly #selections = new WeakMap<ToolList, Selection>();
  readonly #users: UserTools;
  readonly #ofUsers = new WeakMap<ToolList, UserList>();
  /** Lists whose own tools are being added. */
  readonly #adding = new WeakMap<ToolList, Promise<void>>();
  #shared: ReadonlySet<string> = new Set();
  #wanted: ToolList = NONE;
  #current = NONE;
  #pass: Pass | undefined;
  /** Counts how often the index was cleared. */
  #clearings = 0;

  /** Calls `onChange` when there may be tools without vectors. */
  constructor(index: ToolIndex, onChange: () => void) {
    this.#index = index;
    this.#onChange = onChange;
    this.#users = new UserTools(index);
  }

  /** Brings the index to these tools, in the background. */
  share(list: ToolList): void {
    this.#wanted = list;
    if (!this.#pass) void this.#update();
  }

  /** Removes all tools, those of users included: there is no search any more. Resolves once they are gone. */
  async clear(): Promise<void> {
    this.#clearings += 1;
    this.share(NONE);
    await this.#users.clear();
    await this.settled();
  }

  /** Resolves once the index has the tools that are shared at this moment, or later ones: after two passes at most. */
  async settled(): Promise<void> {
    const wanted = this.#wanted;
    const running = this.#pass;
    await running?.done;
    // A pass that began before covers older tools; the next one begins as soon as it is done.
    if (running && running.wanted !== wanted) await this.#pass?.done;
  }

  /** The tools of a list that can be found; made once for each list. */
  async selectionOf(list: ToolList): Promise<Selection> {
    await this.#addOwn(list);
    const before = this.#selections.get(list);
    if (before) return before;
    const made = this.#select(list.entries);
    this.#selections.set(list, made);
    return made;
  }

  /** The tools of one server among those of a list. */
  async selectionOfServer(list: ToolList, server: string): Promise<Selection> {
    await this.#addOwn(list);
    return this.#select(list.entries.filter(({ target }) => serverOf(target) === server));
  }

  /** Undefined for a tool of the optimizer itself. */
  hashOf(entry: ToolEntry): string | undefined {
    return this.#tools.read(entry)?.hash;
  }

  #select(entries: readonly ToolEntry[]): Selection {
    return this.#index.select(entries.flatMap((entry) => this.hashOf(entry) ?? []));
  }

  async #update(): Promise<void> {
    try {
      while (this.#current !== this.#wanted) {
        const wanted = this.#wanted;
        this.#pass = { wanted, done: this.#bringTo(wanted) };
        await this.#pass.done;
      }
    } finally {
      this.#pass = undefined;
    }
    await nextTurn();
    await this.#prepare(this.#current);
  }

  /** Most callers are offered this very list. */
  async #prepare(list: ToolList): Promise<void> {
    const isLatest = (): boolean => !this.#pass && list === this.#wanted;
    if (!isLatest()) return;
    const among = await this.selectionOf(list);
    if (isLatest()) this.#index.prepare(among);
  }

  async #bringTo(wanted: ToolList): Promise<void> {
    const next = new Set<string>();
    const worked = pauses();
    for (const entry of wanted.entries) {
      const isRead = this.#tools.has(entry);
      const read = this.#tools.read(entry);
      if (!read) continue;
      const { hash, tool } = read;
      const isAdded = !next.has(hash) && !this.#shared.has(hash);
      next.add(hash);
      if (isAdded) this.#index.add(tool(), hash);
      if (isAdded || !isRead) await worked();
    }
    const before = this.#shared;
    this.#shared = next;
    for (const hash of before) {
      if (next.has(hash)) continue;
      this.#index.remove(hash);
      await worked();
    }
    this.#current = wanted;
    this.#onChange();
  }

  /** Adds the tools that only the users of this list have. */
  async #addOwn(list: ToolList): Promise<void> {
    const clearings = this.#clearings;
    for (let passes = 0; passes < MOST_PASSES && !this.#hasOwn(list); passes += 1) {
      if (clearings !== this.#clearings) return;
      const adding = this.#adding.get(list) ?? this.#addAnew(list).finally(() => this.#adding.delete(list));
      this.#adding.set(list, adding);
      await adding;
    }
  }

  #hasOwn(list: ToolList): boolean {
    const own = this.#ofUsers.get(list);
    return own?.shared === this.#shared && this.#users.use(own);
  }

  async #addAnew(list: ToolList): Promise<void> {
    const { shared, clearings } = { shared: this.#shared, clearings: this.#clearings };
    const hashes: string[] = [];
    const worked = pauses();
    for (const entry of list.entries) {
      const isRead = this.#tools.has(entry);
      const read = this.#tools.read(entry);
      if (!read) continue;
      const isOwn = !shared.has(read.hash);
      if (isOwn) {
        this.#users.add(read);
        hashes.push(read.hash);
      }
      if (isOwn || !isRead) await worked();
    }
    if (clearings !== this.#clearings) return this.#users.release(hashes);
    const own = { shared, hashes };
    const before = this.#ofUsers.get(list);
    this.#ofUsers.set(list, own);
    if (hashes.length > 0) this.#onChange();
    await this.#users.keep(own, before);
  }
}
