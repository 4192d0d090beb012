import type { Inbound, StreamReply, WatchResource, TaskListener, WatchTasks } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import {
  isObject,
  memberAt,
  replacedMember,
  withMembers,
  withoutMembers,
  type KeyTest,
  isText,
} from '../json/index.ts';
import { LIST_CHANGED, type ListKind, RESERVED_PREFIX, TASK_NOTIFICATION } from '../mcp/index.ts';
import { demandTasks } from './client-capabilities.ts';
import { paramValue, type Envelope } from './envelope.ts';
import { PendingStream } from './pending-stream.ts';
import { StreamSlots } from './stream-slots.ts';

export interface ListenersDeps {
  /** Streams that may be open at one time; one address may have half as many. */
  readonly limit: number;
  readonly watchResource: WatchResource;
  readonly watchTasks: WatchTasks;
}

/** MCP 2026-07-28, `SubscriptionFilter`, and what the extension for tasks adds to it. */
interface Filter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: readonly string[];
  taskIds?: readonly string[];
}

interface Listening {
  readonly filter: Filter;
  readonly tell: (method: string, params?: object) => void;
}

/** Resources that one stream may ask about, and tasks. */
const MAX_NAMES = 64;

const WANTED: Readonly<Record<ListKind, keyof Filter>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
  resourceTemplates: 'resourcesListChanged',
};

/** The streams of `subscriptions/listen` (MCP 2026-07-28): all messages that a client gets outside of its requests. */
export class Listeners {
  readonly #deps: ListenersDeps;
  readonly #open = new Set<Listening>();
  readonly #slots: StreamSlots;

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
    this.#slots = new StreamSlots(deps.limit);
  }

  /** Notifies every client that has asked for changes of these lists. */
  listsChanged(kinds: readonly ListKind[]): void {
    for (const { filter, tell } of this.#open) {
      const methods = kinds.filter((kind) => filter[WANTED[kind]]).map((kind) => LIST_CHANGED[kind]);
      for (const method of new Set(methods)) tell(method);
    }
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
    ended.signal.addEventListener('abort', release);
    client.onGone(() => ended.abort());
    const pending = new PendingStream();
    const tell = (method: string, params: object = {}): void => pending.send(notification(method, params, tag));
    const filter = await this.#watch(wanted, client, { pending, tell, tag, signal: ended.signal }).catch((error) => {
      ended.abort();
      throw error;
    });
    const listening = { filter, tell };
    return {
      kind: 'stream',
      // MCP: a stream that ends in order ends with its result.
      farewell: Buffer.from(
        `{"jsonrpc":"2.0","id":${id.toString()},"result":{"resultType":"complete","_meta":{${tag},"${RESERVED_PREFIX}serverInfo":${client.serverInfo}}}}`,
      ),
      open: (opened) => {
        this.#open.add(listening);
        opened.onClosed(() => {
          this.#open.delete(listening);
          ended.abort();
        });
        const acknowledged = { notifications: filter };
        pending.open(opened, notification('notifications/subscriptions/acknowledged', acknowledged, tag));
      },
      abandon: () => ended.abort(),
    };
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

  async #watchResources(uris: readonly string[], { caller }: Client, { pending, tell, signal }: Telling) {
    const heard = uris.map(async (uri) => {
      const watching = await this.#deps.watchResource(uri, caller, {
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

  #watchTasks(ids: readonly string[], client: Client, { pending, tag, signal }: Telling) {
    return this.#deps.watchTasks(ids, client, {
      signal,
      onTold: (params) => pending.send(taskTold(params, tag)),
      // Notifications may have been missed: the stream ends, so that the client listens anew.
      onEnd: () => pending.end(),
    });
  }
}

/** The stream of one client that listens. */
interface Telling {
  readonly pending: PendingStream;
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

const notification = (method: string, params: object, tag: string): Buffer => {
  const members = JSON.stringify(params).slice(1, -1);
  return Buffer.from(
    `{"jsonrpc":"2.0","method":"${method}","params":{${members === '' ? '' : `${members},`}"_meta":{${tag}}}}`,
  );
};

/** A task notification as its backend wrote it, under the id of this stream. */
const taskTold = (params: Buffer, tag: string): Buffer => {
  const isTag: KeyTest = (bytes, keyAt) => isText(bytes, keyAt, `${RESERVED_PREFIX}subscriptionId`);
  const tagged = memberAt(params, 0, '_meta')
    ? replacedMember(params, '_meta', (meta) =>
        isObject(meta, 0) ? withMembers(withoutMembers(meta, isTag), [tag]) : Buffer.from(`{${tag}}`),
      )
    : withMembers(params, [`"_meta":{${tag}}`]);
  return Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","method":"${TASK_NOTIFICATION}","params":`),
    tagged,
    Buffer.from('}'),
  ]);
};

const filterIn = (envelope: Envelope): Filter => {
  const notifications = paramValue(envelope, 'notifications');
  if (typeof notifications !== 'object' || notifications === null)
    throw new VmcpError('invalid_request', 'params.notifications is missing or not an object');
  const given = notifications as Readonly<Record<string, unknown>>;
  const filter: Filter = {};
  for (const key of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const)
    if (given[key] === true) filter[key] = true;
  for (const key of ['resourceSubscriptions', 'taskIds'] as const) {
    const names = given[key];
    if (names === undefined) continue;
    if (!Array.isArray(names) || names.length > MAX_NAMES || !names.every((name) => typeof name === 'string'))
      throw new VmcpError('invalid_request', `params.notifications.${key} must be a list of up to ${MAX_NAMES} texts`);
    filter[key] = [...new Set<string>(names)];
  }
  return filter;
};
