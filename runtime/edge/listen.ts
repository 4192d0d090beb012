import type { Caller, OpenStream, StreamReply } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { LIST_CHANGED, type ListKind } from '../listed.ts';
import { RESERVED_PREFIX } from '../revisions.ts';
import { paramsOf, type Envelope } from './envelope.ts';

export interface ListenersDeps {
  /** Streams that may be open at one time. */
  readonly limit: number;
  /** Hears of updates of a resource until the returned function is called; undefined when nobody owns it. */
  readonly watchResource: (uri: string, caller: Caller, onUpdated: () => void) => Promise<(() => void) | undefined>;
}

/** MCP 2026-07-28, `SubscriptionFilter`. */
interface Filter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: readonly string[];
}

interface Listening {
  readonly filter: Filter;
  readonly tell: (method: string, params?: object) => void;
}

/** Resources that one stream may ask about. */
const MAX_RESOURCES = 64;

const WANTED: Readonly<Record<ListKind, keyof Filter>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
  resourceTemplates: 'resourcesListChanged',
};

/** The streams of `subscriptions/listen` (MCP 2026-07-28): all that a client hears outside of its requests. */
export class Listeners {
  readonly #deps: ListenersDeps;
  readonly #open = new Set<Listening>();

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  /** Tells everybody who wants to hear it. */
  listsChanged(kinds: readonly ListKind[]): void {
    for (const { filter, tell } of this.#open) {
      const methods = kinds.filter((kind) => filter[WANTED[kind]]).map((kind) => LIST_CHANGED[kind]);
      for (const method of new Set(methods)) tell(method);
    }
  }

  /** Throws `invalid_params`, and `overloaded` when too many streams are open. */
  async open(envelope: Envelope, id: Buffer, { caller, serverInfo }: Client): Promise<StreamReply> {
    const wanted = filterIn(envelope);
    if (this.#open.size >= this.#deps.limit)
      throw new VmcpError('overloaded', 'too many clients are listening; try again later');
    const tag = `"${RESERVED_PREFIX}subscriptionId":${id.toString()}`;
    let stream: OpenStream | undefined;
    const tell = (method: string, params: object = {}): void => void stream?.send(notification(method, params, tag));
    const { watched, stopAll } = await this.#watch(wanted.resourceSubscriptions ?? [], caller, tell);
    const filter = { ...wanted, ...(wanted.resourceSubscriptions && { resourceSubscriptions: watched }) };
    const listening = { filter, tell };
    return {
      kind: 'stream',
      // MCP: a stream that ends in order ends with its result.
      farewell: Buffer.from(
        `{"jsonrpc":"2.0","id":${id.toString()},"result":{"resultType":"complete","_meta":{${tag},"${RESERVED_PREFIX}serverInfo":${serverInfo}}}}`,
      ),
      open: (opened) => {
        stream = opened;
        this.#open.add(listening);
        opened.onClosed(() => {
          this.#open.delete(listening);
          stopAll();
        });
        tell('notifications/subscriptions/acknowledged', { notifications: filter });
      },
    };
  }

  /** A resource that nobody owns is not among those acknowledged. */
  async #watch(uris: readonly string[], caller: Caller, tell: Listening['tell']) {
    const stops: (() => void)[] = [];
    const watched: string[] = [];
    for (const uri of uris) {
      const stop = await this.#deps.watchResource(uri, caller, () => tell('notifications/resources/updated', { uri }));
      if (!stop) continue;
      stops.push(stop);
      watched.push(uri);
    }
    return {
      watched,
      stopAll: () => {
        for (const stop of stops) stop();
      },
    };
  }
}

interface Client {
  readonly caller: Caller;
  /** JSON text of our `serverInfo`. */
  readonly serverInfo: string;
}

const notification = (method: string, params: object, tag: string): Buffer => {
  const members = JSON.stringify(params).slice(1, -1);
  return Buffer.from(
    `{"jsonrpc":"2.0","method":"${method}","params":{${members === '' ? '' : `${members},`}"_meta":{${tag}}}}`,
  );
};

const filterIn = (envelope: Envelope): Filter => {
  const { notifications } = paramsOf(envelope);
  if (typeof notifications !== 'object' || notifications === null)
    throw new VmcpError('invalid_request', 'params.notifications is missing or not an object');
  const given = notifications as Readonly<Record<string, unknown>>;
  const filter: Filter = {};
  for (const key of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const)
    if (given[key] === true) filter[key] = true;
  const uris = given['resourceSubscriptions'];
  if (uris === undefined) return filter;
  if (!Array.isArray(uris) || uris.length > MAX_RESOURCES || !uris.every((uri) => typeof uri === 'string'))
    throw new VmcpError(
      'invalid_request',
      `params.notifications.resourceSubscriptions must be a list of up to ${MAX_RESOURCES} URIs`,
    );
  return { ...filter, resourceSubscriptions: [...new Set(uris)] };
};
