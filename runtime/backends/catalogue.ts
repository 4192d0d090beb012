import { VmcpError } from '../errors.ts';
import { LIST_KINDS, type ListedItem, type ListKind, type Lists } from '../listed.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { BackendCall } from './backend-call.ts';
import type { BackendCapabilities } from './handshake.ts';
import { ListRefusedError, readList, type Ask } from './read-list.ts';

/** What the gateway's own requests are sent over. */
export interface ListLink {
  readonly request: (call: BackendCall & { readonly method: string }) => Promise<Buffer>;
  /** Another value whenever the backend may have become another; undefined before the first request. */
  readonly opened: { readonly capabilities: BackendCapabilities; readonly revision?: string } | undefined;
}

export interface CatalogueSource {
  readonly fetch: Fetch;
  readonly silenceMs: () => number;
  /** Whether a list of this size may be kept, in place of the one before; all backends share what there is. */
  readonly hold: (bytes: number) => boolean;
}

/** Lists of a backend that tells when they change are read again after this long, should it have forgotten to tell. */
const RELY_MS = 5 * 60_000;
/** Those of one that does not tell. */
const ASK_AGAIN_MS = 60_000;

/** The lists of one backend, as they could last be had. */
export class Catalogue {
  readonly #backend: string;
  readonly #source: CatalogueSource;
  #lists: Lists | undefined;
  #leftOut: string | undefined;
  /** When they were last read, and what over. */
  #read: { readonly at: number; readonly over: ListLink['opened'] } | undefined;
  #sequence = 0;
  constructor(backend: string, source: CatalogueSource) {
    this.#backend = backend;
    this.#source = source;
  }

  /** Undefined until there were some. */
  get lists(): Lists | undefined {
    return this.#lists;
  }

  /** What of the backend's lists is not among them, in words that are safe to show. */
  get leftOut(): string | undefined {
    return this.#leftOut;
  }

  /** Whether it is time to read the lists, of themselves or since the backend may have become another. */
  isDue({ opened }: ListLink, now: number): boolean {
    if (!this.#read || this.#read.over !== opened) return true;
    return now - this.#read.at >= (opened?.capabilities.listChanged ? RELY_MS : ASK_AGAIN_MS);
  }

  /** Reads all lists, and keeps those it had when that fails. Throws VmcpError. */
  async read(link: ListLink, { now, signal }: { readonly now: number; readonly signal: AbortSignal }): Promise<void> {
    this.#read = undefined;
    const leftOut: LeftOut = { count: 0, first: '' };
    const lists = this.#reuse(await this.#list({ link, signal, onLeftOut: noteIn(leftOut) }));
    if (!this.#source.hold(bytesOf(lists)))
      throw new VmcpError('backend_unavailable', 'the lists of all backends together are too large');
    this.#lists = lists;
    this.#leftOut = textOf(leftOut);
    this.#read = { at: now, over: link.opened };
  }

  /** Tools first, and what the backend says it has besides. */
  async #list(over: Over): Promise<Lists> {
    const tools = await this.#listTools(over);
    const { capabilities } = over.link.opened ?? {};
    const [prompts, resources, resourceTemplates] = await Promise.all(
      (['prompts', 'resources', 'resourceTemplates'] as const).map(async (kind) =>
        capabilities?.[CAPABILITY[kind]] ? this.#listKind(over, kind) : [],
      ),
    );
    return { tools, prompts: prompts ?? [], resources: resources ?? [], resourceTemplates: resourceTemplates ?? [] };
  }

  async #listTools(over: Over): Promise<readonly ListedItem[]> {
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
  async #listKind(over: Over, kind: ListKind): Promise<readonly ListedItem[]> {
    try {
      return await this.#readList(kind, over);
    } catch (error) {
      if (error instanceof ListRefusedError) return this.#lists?.[kind] ?? [];
      throw error;
    }
  }

  #readList(kind: ListKind, over: Over): Promise<readonly ListedItem[]> {
    const { link, onLeftOut } = over;
    const isModern = link.opened !== undefined && link.opened.revision === undefined;
    return readList({ backend: this.#backend, kind, isModern, onLeftOut }, this.#askOver(over));
  }

  #askOver({ link, signal }: Over): Ask {
    return (method, params) => {
      this.#sequence += 1;
      const id = Buffer.from(`"vmcp-${this.#sequence}"`);
      const bytes = Buffer.from(
        `{"jsonrpc":"2.0","id":${id.toString('latin1')},"method":"${method}","params":${params}}`,
      );
      const { fetch, silenceMs } = this.#source;
      return link.request({ bytes, id, method, silenceMs: silenceMs(), isDeadline: true, signal, fetch });
    };
  }

  /** What is unchanged stays the very same value, so that nothing built from it has to be built again. */
  #reuse(lists: Lists): Lists {
    const known = this.#lists;
    if (!known) return lists;
    const reused = Object.fromEntries(LIST_KINDS.map((kind) => [kind, unchanged(known[kind], lists[kind])])) as Lists;
    return LIST_KINDS.every((kind) => reused[kind] === known[kind]) ? known : reused;
  }
}

/** In place of the lists of a backend that lists something else to each user. */
export const noLists: Pick<Catalogue, 'isDue' | 'leftOut' | 'lists' | 'read'> = {
  lists: undefined,
  leftOut: undefined,
  isDue: () => false,
  read: async () => {},
};

interface Over {
  readonly link: ListLink;
  readonly signal: AbortSignal;
  readonly onLeftOut: (what: string) => void;
}

interface LeftOut {
  count: number;
  first: string;
}

const noteIn =
  (leftOut: LeftOut): Over['onLeftOut'] =>
  (what) => {
    if (leftOut.count === 0) leftOut.first = what;
    leftOut.count += 1;
  };

const textOf = ({ count, first }: LeftOut): string | undefined => {
  if (count === 0) return undefined;
  return `left out of its lists, since clients refuse it: ${first}${count > 1 ? `, and ${count - 1} more` : ''}`;
};

/** Failures that are none of the question's making. */
const NO_ANSWER: ReadonlySet<VmcpError['code']> = new Set([
  'backend_unreachable',
  'backend_timeout',
  'backend_unauthenticated',
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
