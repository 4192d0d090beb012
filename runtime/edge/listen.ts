import {
  type Caller,
  type Inbound,
  isSameCaller,
  type OpenFor,
  type StreamReply,
  type TaskListener,
  type WatchResource,
  type WatchTasks,
} from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { LIST_CHANGED, type ListKind, RESERVED_PREFIX } from '../mcp/index.ts';
import { eachOf } from '../process/index.ts';
import { demandTasks } from './client-capabilities.ts';
import type { Envelope } from './envelope.ts';
import { notification, taskTold } from './listen-messages.ts';
import { PendingStream } from './pending-stream.ts';
import { StreamSlots } from './stream-slots.ts';
import { type Filter, filterIn } from './subscription-filter.ts';

export interface ListenersDeps {
  /** Streams that may be open at one time; one address may have half as many. */
  readonly limit: number;
  readonly watchResource: WatchResource;
  readonly watchTasks: WatchTasks;
  /** The caller with a token that is valid; undefined where there is none, and nothing is told any more. */
  readonly current: (caller: Caller) => Caller | undefined;
  readonly mayWatch: MayWatch;
  /** Listens at backends for changes of lists that are the caller's own, until the returned function is called. */
  readonly listenForLists: (caller: Caller) => () => void;
}

/** Decides again whether the caller may watch a name. */
export type MayWatch = (caller: Caller, names: 'resource' | 'task', name: string) => Promise<boolean>;

interface Listening {
  /** What is acknowledged; undefined until that is known. */
  filter?: Filter;
  /** By the token that its names were decided for. */
  caller: Caller;
  /** The decision for a newer token, while it is made. Until then the stream is held back. */
  renewal?: Promise<void>;
  readonly tell: (method: string, params?: object) => void;
  readonly pending: PendingStream;
}

const WANTED: Readonly<Record<ListKind, keyof Filter>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
  resourceTemplates: 'resourcesListChanged',
};

/** The streams of `subscriptions/listen` (MCP 2026-07-28): all messages that a client gets outside of its requests. */
export class Listeners {
  readonly #deps: ListenersDeps;
  /** The streams that are open or about to open. */
  readonly #open = new Set<Listening>();
  readonly #slots: StreamSlots;
  /** How often rights have changed. */
  #changes = 0;

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
    this.#slots = new StreamSlots(deps.limit);
  }

  /** As `StreamSlots`. */
  get utilization(): number {
    return this.#slots.utilization;
  }

  /** Notifies every client that has asked for changes of these lists; with `caller`, those of this caller alone. */
  listsChanged(kinds: readonly ListKind[], caller?: Caller): void {
    for (const { filter, tell, caller: listening } of this.#open) {
      if (caller && !isSameCaller(listening, caller)) continue;
      const methods = kinds.filter((kind) => filter?.[WANTED[kind]]).map((kind) => LIST_CHANGED[kind]);
      for (const method of new Set(methods)) tell(method);
    }
  }

  /**
   * Decides again about every watched name. A stream with a name that is refused ends in order, so that its client
   * listens anew and is acknowledged what it may have. Resolves with the number of streams that end.
   */
  async readmit(): Promise<number> {
    this.#changes += 1;
    let ended = 0;
    const decide = async (listening: Listening): Promise<void> => {
      await listening.renewal;
      listening.caller = this.#deps.current(listening.caller) ?? listening.caller;
      if (!this.#open.has(listening) || (await this.#isAdmitted(listening))) return;
      this.#cut(listening);
      ended += 1;
    };
    await eachOf([...this.#open], decide);
    return ended;
  }

  /** The streams, for a check of their callers. */
  openFor(): readonly OpenFor[] {
    return [...this.#open].map((listening) => {
      const { caller } = listening;
      const isSame = (): boolean => listening.caller === caller && this.#open.has(listening);
      return {
        caller,
        method: 'subscriptions/listen',
        keep: (verified) => {
          if (isSame() && verified !== caller) this.#renew(listening, verified);
        },
        end: () => {
          const isUnknown = isSame();
          if (isUnknown) this.#cut(listening);
          return isUnknown;
        },
      };
    });
  }

  /** Throws `invalid_request`, `missing_client_capability`, and `overloaded` when too many streams are open. */
  async open(envelope: Envelope, id: Buffer, client: Client): Promise<StreamReply> {
    const wanted = filterIn(envelope);
    if (wanted.taskIds) demandTasks(client.capabilities);
    // The place is taken first: asking the backends takes time.
    const release = this.#slots.take(client.address);
    if (!release) throw new VmcpError('overloaded', 'too many clients are listening; try again later');
    const tag = `"${RESERVED_PREFIX}subscriptionId":${id.toString()}`;
    const ended = new AbortController();
    const telling = this.#telling(client, { tag, signal: ended.signal });
    const { listening, pending } = telling;
    this.#open.add(listening);
    ended.signal.addEventListener('abort', () => {
      this.#open.delete(listening);
      release();
    });
    client.onGone(() => ended.abort());
    if (Object.values(WANTED).some((key) => wanted[key]))
      ended.signal.addEventListener('abort', this.#deps.listenForLists(client.caller));
    await this.#begin(listening, () => this.#watch(wanted, client, telling)).catch((error) => {
      ended.abort();
      throw error;
    });
    return {
      kind: 'stream',
      // MCP: a stream that ends in order ends with its result.
      farewell: Buffer.from(
        `{"jsonrpc":"2.0","id":${id.toString()},"result":{"resultType":"complete","_meta":{${tag},"${RESERVED_PREFIX}serverInfo":${client.serverInfo}}}}`,
      ),
      open: (opened) => {
        opened.onClosed(() => ended.abort());
        const acknowledged = { notifications: listening.filter };
        pending.open(opened, notification('notifications/subscriptions/acknowledged', acknowledged, tag));
      },
      abandon: () => ended.abort(),
    };
  }

  #telling({ caller }: Client, { tag, signal }: Pick<Telling, 'tag' | 'signal'>): Telling {
    const pending = new PendingStream();
    const send = (message: Buffer): void => {
      const current = this.#deps.current(listening.caller);
      // The client comes back with a token that is valid, and listens anew.
      if (!current) return this.#cut(listening);
      // Another token may give other rights.
      if (current !== listening.caller) this.#renew(listening, current);
      pending.send(message);
    };
    const tell: Telling['tell'] = (method, params = {}) => send(notification(method, params, tag));
    const listening: Listening = { caller, tell, pending };
    return { listening, pending, send, tell, tag, signal };
  }

  /** Decides about the names of a stream for another token of its client. */
  #renew(listening: Listening, caller: Caller): void {
    const { pending } = listening;
    listening.caller = caller;
    pending.hold();
    const decide = async (): Promise<void> => {
      const isAdmitted = await this.#isAdmitted(listening).catch(() => false);
      // A later decision, for yet another token, says what becomes of the stream.
      if (listening.renewal !== renewal) return;
      delete listening.renewal;
      if (isAdmitted) pending.release();
      else this.#cut(listening);
    };
    const renewal = decide();
    listening.renewal = renewal;
  }

  /** Ends a stream in order, without what waits to be told. Nothing more is decided about it. */
  #cut(listening: Listening): void {
    this.#open.delete(listening);
    listening.pending.cut();
  }

  async #begin(listening: Listening, watch: () => Promise<Filter>): Promise<void> {
    const before = this.#changes;
    listening.filter = await watch();
    // Rights have changed while the backends were asked.
    if (this.#changes !== before && !(await this.#isAdmitted(listening))) this.#cut(listening);
  }

  async #isAdmitted({
    filter: { resourceSubscriptions = [], taskIds = [] } = {},
    caller,
  }: Listening): Promise<boolean> {
    const { mayWatch } = this.#deps;
    const decisions = await Promise.all([
      ...resourceSubscriptions.map((uri) => mayWatch(caller, 'resource', uri)),
      ...taskIds.map((id) => mayWatch(caller, 'task', id)),
    ]);
    return decisions.every((isAdmitted) => isAdmitted);
  }

  /**
   * The filter that is acknowledged: without resources that no backend owns, and without tasks that no backend reports
   * on.
   */
  async #watch(wanted: Filter, client: Client, telling: Telling): Promise<Filter> {
    const { resourceSubscriptions, taskIds } = wanted;
    const [resources, tasks] = await Promise.all([
      resourceSubscriptions && this.#watchResources(resourceSubscriptions, client, telling),
      taskIds && this.#watchTasks(taskIds, client, telling),
    ]);
    return { ...wanted, ...(resources && { resourceSubscriptions: resources }), ...(tasks && { taskIds: tasks }) };
  }

  async #watchResources(uris: readonly string[], client: Client, { pending, tell, signal }: Telling) {
    const heard = uris.map(async (uri) => {
      const watching = await this.#deps.watchResource(uri, client, {
        onUpdated: () => tell('notifications/resources/updated', { uri }),
        // The client listens anew, and reaches the backend's replacement.
        onEnd: () => pending.end(),
      });
      if (signal.aborted) watching?.stop();
      else if (watching) signal.addEventListener('abort', watching.stop);
      return watching
        ? watching.confirmed.then(
            () => [uri],
            () => [],
          )
        : [];
    });
    return (await Promise.all(heard)).flat();
  }

  #watchTasks(ids: readonly string[], client: Client, { pending, send, tag, signal }: Telling) {
    return this.#deps.watchTasks(ids, client, {
      signal,
      onTold: (params) => send(taskTold(params, tag)),
      // Notifications may have been missed: the stream ends, so that the client listens anew.
      onEnd: () => pending.end(),
    });
  }
}

/** The stream of one client that listens. */
interface Telling {
  readonly listening: Listening;
  readonly pending: PendingStream;
  readonly send: (message: Buffer) => void;
  readonly tell: Listening['tell'];
  /** JSON text of the member of `_meta` that names the stream. */
  readonly tag: string;
  /** Aborted when the stream has ended. */
  readonly signal: AbortSignal;
}

interface Client extends TaskListener {
  /** JSON text of our `serverInfo`. */
  readonly serverInfo: string;
  /** The client's address, as far as it is known. */
  readonly address: string | undefined;
  /** Runs once when the client goes away. */
  readonly onGone: Inbound['onGone'];
}
