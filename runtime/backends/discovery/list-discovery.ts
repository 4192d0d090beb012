import { VmcpError } from '../../errors.ts';
import { LIST_KINDS, type ListedItem, type ListKind, type Lists } from '../../mcp/index.ts';
import type { Fetch } from '../../outgoing/index.ts';
import type { ListSource, BackendCapabilities } from '../messages/backend-call.ts';
import { ListRefusedError, readList, type Ask } from './read-list.ts';

export interface ListDiscoverySource {
  readonly fetch: Fetch;
  readonly idleTimeoutMs: () => number;
  /**
   * Reserves room for lists of this size in place of the earlier ones, from a budget that all backends share. False:
   * there is no room.
   */
  readonly hold: (bytes: number) => boolean;
}

/** Lists of a backend that notifies of changes are read again after this time, in case a notification was lost. */
const REREAD_NOTIFIED_MS = 5 * 60_000;
/** The same for a backend without such notifications. */
const REREAD_MS = 60_000;

/** The lists of one backend, as they were last read. */
export class ListDiscovery {
  readonly #backend: string;
  readonly #source: ListDiscoverySource;
  #lists: Lists | undefined;
  #leftOut: string | undefined;
  /** When the lists were last read, and what the backend declared then. */
  #read: { readonly at: number; readonly over: ListSource['opened'] } | undefined;
  #sequence = 0;
  constructor(backend: string, source: ListDiscoverySource) {
    this.#backend = backend;
    this.#source = source;
  }

  /** Undefined until the lists were read once. */
  get lists(): Lists | undefined {
    return this.#lists;
  }

  /** Which entries of the backend are left out, in words that are safe to show. */
  get leftOut(): string | undefined {
    return this.#leftOut;
  }

  /** Whether the lists have to be read: they are too old, or the backend may have been replaced. */
  isDue({ opened }: ListSource, now: number): boolean {
    if (!this.#read || this.#read.over !== opened) return true;
    return now - this.#read.at >= (opened?.capabilities.listChanged ? REREAD_NOTIFIED_MS : REREAD_MS);
  }

  /** Reads all lists; when that fails, the earlier ones are kept. Throws VmcpError. */
  async read(link: ListSource, { now, signal }: { readonly now: number; readonly signal: AbortSignal }): Promise<void> {
    this.#read = undefined;
    const leftOut: LeftOut = { count: 0, first: '' };
    const lists = this.#reuse(await this.#list({ link, signal, onLeftOut: noteIn(leftOut) }));
    if (!this.#source.hold(bytesOf(lists)))
      throw new VmcpError('backend_unavailable', 'the lists of all backends together are too large');
    this.#lists = lists;
    this.#leftOut = textOf(leftOut);
    this.#read = { at: now, over: link.opened };
  }

  /** Reads the tools first, then the other lists that the backend declares. */
  async #list(over: ListRead): Promise<Lists> {
    const tools = await this.#listTools(over);
    const { capabilities } = over.link.opened ?? {};
    const [prompts, resources, resourceTemplates] = await Promise.all(
      (['prompts', 'resources', 'resourceTemplates'] as const).map(async (kind) =>
        capabilities?.[CAPABILITY[kind]] ? this.#listKind(over, kind) : [],
      ),
    );
    return { tools, prompts: prompts ?? [], resources: resources ?? [], resourceTemplates: resourceTemplates ?? [] };
  }

  async #listTools(over: ListRead): Promise<readonly ListedItem[]> {
    try {
      return await this.#readList('tools', over);
    } catch (error) {
      // A server without the tools capability may refuse the question, and simply has none.
      if (error instanceof VmcpError && NO_ANSWER.has(error.code)) throw error;
      if (over.link.opened?.capabilities.tools !== false) throw error;
      return [];
    }
  }

  /** A backend that refuses one of its lists keeps the others, and what it last listed of this one. */
  async #listKind(over: ListRead, kind: ListKind): Promise<readonly ListedItem[]> {
    try {
      return await this.#readList(kind, over);
    } catch (error) {
      if (error instanceof ListRefusedError) return this.#lists?.[kind] ?? [];
      throw error;
    }
  }

  #readList(kind: ListKind, over: ListRead): Promise<readonly ListedItem[]> {
    const { link, onLeftOut } = over;
    const isModern = link.opened !== undefined && link.opened.revision === undefined;
    return readList({ backend: this.#backend, kind, isModern, onLeftOut }, this.#askOver(over));
  }

  #askOver({ link, signal }: ListRead): Ask {
    return (method, params) => {
      this.#sequence += 1;
      const id = Buffer.from(`"vmcp-${this.#sequence}"`);
      const bytes = Buffer.from(
        `{"jsonrpc":"2.0","id":${id.toString('latin1')},"method":"${method}","params":${params}}`,
      );
      const { fetch, idleTimeoutMs } = this.#source;
      return link.request({ bytes, id, method, idleTimeoutMs: idleTimeoutMs(), isDeadline: true, signal, fetch });
    };
  }

  /** Unchanged lists keep their identity, so that nothing built from them has to be built again. */
  #reuse(lists: Lists): Lists {
    const known = this.#lists;
    if (!known) return lists;
    const reused = Object.fromEntries(LIST_KINDS.map((kind) => [kind, unchanged(known[kind], lists[kind])])) as Lists;
    return LIST_KINDS.every((kind) => reused[kind] === known[kind]) ? known : reused;
  }
}

/** In place of the lists of a backend whose lists differ by user. */
export const noLists: Pick<ListDiscovery, 'isDue' | 'leftOut' | 'lists' | 'read'> = {
  lists: undefined,
  leftOut: undefined,
  isDue: () => false,
  read: async () => {},
};

interface ListRead {
  readonly link: ListSource;
  readonly signal: AbortSignal;
  readonly onLeftOut: (what: string) => void;
}

interface LeftOut {
  count: number;
  first: string;
}

const noteIn =
  (leftOut: LeftOut): ListRead['onLeftOut'] =>
  (what) => {
    if (leftOut.count === 0) leftOut.first = what;
    leftOut.count += 1;
  };

const textOf = ({ count, first }: LeftOut): string | undefined => {
  if (count === 0) return undefined;
  return `left out of its lists, since clients refuse it: ${first}${count > 1 ? `, and ${count - 1} more` : ''}`;
};

/** Failures that the list request did not cause. */
const NO_ANSWER: ReadonlySet<VmcpError['code']> = new Set([
  'backend_unreachable',
  'backend_timeout',
  'backend_unauthenticated',
  'credential_unavailable',
  'login_required',
]);

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
