import type { ListEntry, ListPages } from '../catalog/index.ts';
import { nextTurn } from '../process/index.ts';
import { serverOf } from './server-summary.ts';
import { contentHashOf, type SearchableTool, type Selection, type ToolIndex } from './search/index.ts';

/** A list of tools as the catalog has it: the same value as long as nothing in it changes. */
export type ToolList = ListPages;
export type ToolEntry = ListEntry;

interface Known {
  readonly tool: SearchableTool;
  readonly hash: string;
}

/** Lists of single users whose own tools are in the index; the least recently searched are dropped first. */
const USER_LISTS = 1_000;

/** Tools that are read between two turns of the event loop. */
const AT_ONCE = 32;

/**
 * Keeps the index to the tools that there are: those of the catalog that all callers share, and those that only single
 * users are offered, once they search. Each text is read once.
 */
export class IndexedTools {
  readonly #index: ToolIndex;
  readonly #onChange: () => void;
  readonly #known = new WeakMap<Buffer, Known>();
  readonly #selections = new WeakMap<ToolList, Selection>();
  /** Maps keep the order of insertion: the first list is the least recently searched one. */
  readonly #ofUsers = new Map<ToolList, UserList>();
  #shared: ReadonlySet<string> = new Set();
  #wanted: readonly ToolEntry[] = [];
  #current: readonly ToolEntry[] = [];
  #updating: Promise<void> | undefined;

  /** Calls `onChange` when there may be tools without vectors. */
  constructor(index: ToolIndex, onChange: () => void) {
    this.#index = index;
    this.#onChange = onChange;
  }

  /** Brings the index to these tools, in the background. */
  share(entries: readonly ToolEntry[]): void {
    this.#wanted = entries;
    this.#updating ??= this.#update().finally(() => {
      this.#updating = undefined;
    });
  }

  /** Resolves once the index has all shared tools. */
  async settled(): Promise<void> {
    await this.#updating;
  }

  /** The tools of a list that can be found; made once for each list. */
  selectionOf(list: ToolList): Selection {
    this.#addOwn(list);
    const before = this.#selections.get(list);
    if (before) return before;
    const made = this.#index.select(list.entries.flatMap((entry) => this.hashOf(entry) ?? []));
    this.#selections.set(list, made);
    return made;
  }

  /** The tools of one server among those of a list. */
  selectionOfServer(list: ToolList, server: string): Selection {
    this.#addOwn(list);
    const own = list.entries.filter(({ target }) => serverOf(target) === server);
    return this.#index.select(own.flatMap((entry) => this.hashOf(entry) ?? []));
  }

  /** Undefined for a tool of the optimizer itself. */
  hashOf(entry: ToolEntry): string | undefined {
    return entry.target.kind === 'builtin' ? undefined : this.#knownOf(entry).hash;
  }

  #knownOf(entry: ToolEntry): Known {
    const before = this.#known.get(entry.bytes);
    if (before) return before;
    const tool = searchableOf(entry);
    const made = { tool, hash: contentHashOf(tool) };
    this.#known.set(entry.bytes, made);
    return made;
  }

  async #update(): Promise<void> {
    while (this.#current !== this.#wanted) {
      const wanted = this.#wanted;
      const next = new Set<string>();
      let left = AT_ONCE;
      for (const entry of wanted) {
        if (this.hashOf(entry) === undefined) continue;
        const { tool, hash } = this.#knownOf(entry);
        if (next.has(hash)) continue;
        next.add(hash);
        if (this.#shared.has(hash)) continue;
        this.#index.add(tool);
        left -= 1;
        if (left > 0) continue;
        left = AT_ONCE;
        await nextTurn();
      }
      for (const hash of this.#shared) if (!next.has(hash)) this.#index.remove(hash);
      this.#shared = next;
      this.#current = wanted;
    }
    this.#onChange();
  }

  /** Adds the tools that only the users of this list have. */
  #addOwn(list: ToolList): void {
    const before = this.#ofUsers.get(list);
    this.#ofUsers.delete(list);
    if (before?.of === this.#shared) return void this.#ofUsers.set(list, before);
    const own = list.entries.flatMap((entry) => {
      const hash = this.hashOf(entry);
      return hash === undefined || this.#shared.has(hash) ? [] : [this.#knownOf(entry)];
    });
    for (const { tool } of own) this.#index.add(tool);
    this.#drop(before);
    this.#ofUsers.set(list, { of: this.#shared, hashes: own.map(({ hash }) => hash) });
    const [oldest] = this.#ofUsers.keys();
    if (this.#ofUsers.size > USER_LISTS && oldest) {
      this.#drop(this.#ofUsers.get(oldest));
      this.#ofUsers.delete(oldest);
    }
    if (own.length > 0) this.#onChange();
  }

  #drop(list: UserList | undefined): void {
    for (const hash of list?.hashes ?? []) this.#index.remove(hash);
  }
}

interface UserList {
  /** The shared tools that they were compared with. */
  readonly of: ReadonlySet<string>;
  readonly hashes: readonly string[];
}

/** What a backend may have written. */
interface WrittenTool {
  readonly title?: unknown;
  readonly description?: unknown;
  readonly annotations?: { readonly title?: unknown } | null;
  readonly inputSchema?: unknown;
}

/** The schema is read anew whenever it is needed: as a value it takes many times the memory of its text. */
const searchableOf = ({ name, target, bytes }: ToolEntry): SearchableTool => {
  const written = (): WrittenTool => JSON.parse(bytes.toString()) as WrittenTool;
  const { title, description, annotations } = written();
  const titled = typeof title === 'string' ? title : annotations?.title;
  return {
    name,
    ...(typeof titled === 'string' && { title: titled }),
    ...(typeof description === 'string' && { description }),
    ...(target.kind === 'backend' && { server: target.backend }),
    get inputSchema() {
      return written().inputSchema;
    },
  };
};
