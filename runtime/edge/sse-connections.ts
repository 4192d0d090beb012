import { isSameCaller, type Caller, type Inbound, type OpenStream, type Reply, type StreamReply } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { StreamSlots } from './stream-slots.ts';

export interface SseConnectionsDeps {
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  /** Ends the session with this id, when there still is one. */
  readonly endSession: (id: string) => void;
  /** Open at one time; of one address half as many. */
  readonly limit: number;
}

/** A stream that a client of 2024-11-05 reads its answers from, while it POSTs to an address of its own. */
interface SseConnection {
  readonly caller: Caller;
  readonly stream: OpenStream;
  isInitialized?: boolean;
  /** Once `initialize` has been answered. */
  sessionId?: string;
}

/** HTTP+SSE, the transport of 2024-11-05, in terms of Streamable HTTP: the same messages and sessions, answered over one stream. */
export class SseConnections {
  readonly #deps: SseConnectionsDeps;
  readonly #connections = new Map<string, SseConnection>();
  readonly #slots: StreamSlots;

  constructor(deps: SseConnectionsDeps) {
    this.#deps = deps;
    this.#slots = new StreamSlots(deps.limit);
  }

  /** `GET /sse`. The first event tells where to POST. */
  open(caller: Caller, address: string | undefined): StreamReply {
    const giveBack = this.#slots.take(address);
    if (!giveBack) throw new VmcpError('overloaded', 'too many clients are connected; try again later');
    const id = this.#deps.newId();
    return {
      kind: 'stream',
      open: (stream) => {
        const connection: SseConnection = { caller, stream };
        this.#connections.set(id, connection);
        stream.onClosed(() => {
          this.#connections.delete(id);
          giveBack();
          if (connection.sessionId !== undefined) this.#deps.endSession(connection.sessionId);
        });
        // Relative, so that it is right behind a proxy that adds a path, too.
        stream.send(Buffer.from(`messages?sessionId=${id}`), 'endpoint');
      },
      abandon: giveBack,
    };
  }

  /** Throws `session_not_found` for unknown connections and for those of other callers. */
  check({ query }: Pick<Inbound, 'query'>, caller: Caller): void {
    if (!isSameCaller(this.#find(query).caller, caller)) throw notFound();
  }

  /** Id of the session that messages to this address belong to; undefined before `initialize`. */
  sessionOf(query: string): string | undefined {
    return this.#find(query).sessionId;
  }

  /** What a message to this address looks like to everybody behind: a request of Streamable HTTP whose answers go to the stream. */
  streamed(request: Inbound): Inbound {
    const { stream, sessionId } = this.#find(request.query);
    const { http, endpoint, query, body, clientAddress } = request;
    return {
      http,
      endpoint,
      query,
      body,
      clientAddress,
      correlationId: () => request.correlationId(),
      headers: { ...request.headers, 'mcp-session-id': sessionId },
      send: (message) => stream.send(message),
      onGone: stream.onClosed,
    };
  }

  /** Sends the answer to such a message. Nothing happens when the client has gone. */
  answer({ query }: Pick<Inbound, 'query'>, reply: Reply): void {
    const connection = this.#connections.get(idIn(query));
    if (!connection || reply.kind !== 'whole') return;
    const at = reply.headers?.indexOf('mcp-session-id') ?? -1;
    if (at >= 0 && connection.sessionId === undefined) connection.sessionId = reply.headers?.[at + 1] ?? '';
    if (reply.body) connection.stream.send(reply.body);
  }

  /** `open` makes the session of the connection, which may have one only. Where it fails, the client may try again. */
  async initialize<Opened>({ query }: Pick<Inbound, 'query'>, open: () => Promise<Opened>): Promise<Opened> {
    const connection = this.#find(query);
    if (connection.isInitialized) throw new VmcpError('not_json_rpc', 'this connection is initialized already');
    connection.isInitialized = true;
    try {
      return await open();
    } catch (error) {
      connection.isInitialized = false;
      throw error;
    }
  }

  /** The stream of the connection, for what a session says between calls. */
  streamOf({ query }: Pick<Inbound, 'query'>): OpenStream {
    return this.#find(query).stream;
  }

  #find(query: string): SseConnection {
    const connection = this.#connections.get(idIn(query));
    if (!connection) throw notFound();
    return connection;
  }
}

const idIn = (query: string): string => new URLSearchParams(query).get('sessionId') ?? '';

const notFound = (): VmcpError =>
  new VmcpError('session_not_found', 'no such connection; open a new one with GET /sse');
