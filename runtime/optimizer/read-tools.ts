import { hash as digest } from 'node:crypto';
import type { ListEntry } from '../catalog/index.ts';
import { lruCache } from '../process/index.ts';
import { contentHashOf, type SearchableTool } from './search/index.ts';

export type ToolEntry = ListEntry;

/** A tool of a list as the index knows it. */
export interface ReadTool {
  readonly hash: string;
  /** Of its text, which the index keeps. */
  readonly bytes: number;
  /** Read from the text whenever it is asked for. */
  readonly tool: () => SearchableTool;
}

/** Hashes by what was read, for lists that come again with equal texts, as those of users do. */
const KNOWN_HASHES = { count: 20_000, bytes: 8 * 1024 * 1024 };

/** Bytes of a hash and a digest in memory, about. */
const HASH_BYTES = 200;

/** Reads tools of lists, each text once, whichever lists have it. */
export class ReadTools {
  readonly #read = new WeakMap<Buffer, ReadTool>();
  readonly #hashes = lruCache<string>(KNOWN_HASHES);

  /** Whether the entry costs nothing to read. */
  has({ bytes }: ToolEntry): boolean {
    return this.#read.has(bytes);
  }

  /** Undefined for a tool of the optimizer itself. */
  read(entry: ToolEntry): ReadTool | undefined {
    if (entry.target.kind === 'builtin') return undefined;
    const before = this.#read.get(entry.bytes);
    if (before) return before;
    const tool = (): SearchableTool => searchableOf(entry);
    const made = { hash: this.#hashOf(entry, tool), bytes: entry.bytes.length, tool };
    this.#read.set(entry.bytes, made);
    return made;
  }

  #hashOf({ name, target, bytes }: ToolEntry, tool: ReadTool['tool']): string {
    const server = target.kind === 'backend' ? target.backend : '';
    const key = `${digest('sha256', bytes, 'base64url')} ${server} ${name}`;
    const before = this.#hashes.get(key);
    if (before !== undefined) return before;
    const hash = contentHashOf(tool());
    this.#hashes.set(key, hash, HASH_BYTES + 2 * key.length);
    return hash;
  }
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
