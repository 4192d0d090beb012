import { pauses } from './pauses.ts';
import type { ReadTool } from './read-tools.ts';
import type { ToolIndex } from './search/index.ts';

/** What single users are offered beyond the shared tools, by content hash. */
export interface UserList {
  /** The hashes of the shared tools that the list was compared with. */
  readonly shared: ReadonlySet<string>;
  readonly hashes: readonly string[];
}

export interface UserBounds {
  readonly lists: number;
  /** Of the texts of their tools; a text that several lists have counts once. */
  readonly bytes: number;
}

const BOUNDS: UserBounds = { lists: 1_000, bytes: 64 * 1024 * 1024 };

/** The tools of single users in the index; those of the least recently searched lists are removed first. */
export class UserTools {
  readonly #index: Pick<ToolIndex, 'add' | 'remove'>;
  readonly #bounds: UserBounds;
  readonly #contents = new Map<string, { readonly bytes: number; uses: number }>();
  /** Sets keep the order of insertion: the first list is the least recently searched one. */
  readonly #kept = new Set<UserList>();
  #bytes = 0;

  constructor(index: Pick<ToolIndex, 'add' | 'remove'>, bounds = BOUNDS) {
    this.#index = index;
    this.#bounds = bounds;
  }

  /** Whether the tools of the list are in the index still; it counts as searched now. */
  use(list: UserList): boolean {
    if (list.hashes.length === 0) return true;
    if (!this.#kept.delete(list)) return false;
    this.#kept.add(list);
    return true;
  }

  /** Adds a use of a tool, for a list that is kept, or released, later. */
  add({ hash, bytes, tool }: ReadTool): void {
    const known = this.#contents.get(hash);
    if (known) {
      known.uses += 1;
      return;
    }
    this.#index.add(tool(), hash);
    this.#contents.set(hash, { bytes, uses: 1 });
    this.#bytes += bytes;
  }

  /** Ends a use of each. */
  async release(hashes: readonly string[]): Promise<void> {
    const worked = pauses();
    for (const hash of hashes) {
      const known = this.#contents.get(hash);
      if (!known) continue;
      known.uses -= 1;
      if (known.uses > 0) continue;
      this.#contents.delete(hash);
      this.#bytes -= known.bytes;
      this.#index.remove(hash);
      await worked();
    }
  }

  /** Keeps a list whose tools were added, in place of `before`, and of others as far as there is no room. */
  async keep(list: UserList, before: UserList | undefined): Promise<void> {
    if (list.hashes.length > 0) this.#kept.add(list);
    if (before) await this.#drop(before);
    for (const oldest of this.#kept) {
      const { lists, bytes } = this.#bounds;
      if ((this.#kept.size <= lists && this.#bytes <= bytes) || oldest === list) return;
      await this.#drop(oldest);
    }
  }

  /** Removes the tools of all lists that are kept. */
  async clear(): Promise<void> {
    const lists = [...this.#kept];
    this.#kept.clear();
    for (const { hashes } of lists) await this.release(hashes);
  }

  async #drop(list: UserList): Promise<void> {
    if (this.#kept.delete(list)) await this.release(list.hashes);
  }
}
