import {
  isSameCaller,
  type Caller,
  type Inbound,
  type OpenStream,
  type Reply,
  type StreamReply,
  type WholeReply,
} from '../call.ts';
import { VmcpError } from '../errors.ts';
import { readEnvelope } from './envelope.ts';
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

  /** Id of the session that messages to this address belong to; undefined before `initialize`. */
  sessionOf(query: string): string | undefined {
    return this.#find(query).sessionId;
  }

  /**
   * What a message to this address looks like to everybody behind: a request of Streamable HTTP whose answers go to the stream. Its own
   * answer says only that it was taken.
   */
  streamed(request: Inbound & Answered): Inbound {
    return new StreamedRequest(request, (caller) => this.#findOf(request.query, caller));
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

  /** Throws `session_not_found` for unknown connections and for those of other callers alike. */
  #findOf(query: string, caller: Caller): SseConnection {
    const connection = this.#find(query);
    if (!isSameCaller(connection.caller, caller)) throw notFound();
    return connection;
  }

  #find(query: string): SseConnection {
    const connection = this.#connections.get(idIn(query));
    if (!connection) throw notFound();
    return connection;
  }
}

interface Answered {
  readonly answer: (reply: WholeReply) => void;
}

/** Its connection is looked for once it is known who sends it: a stranger learns nothing of connections, and says nothing on them. */
class StreamedRequest implements Inbound {
  readonly http: Inbound['http'];
  readonly endpoint: Inbound['endpoint'];
  readonly query: string;
  readonly headers: Inbound['headers'];
  readonly clientAddress: string | undefined;
  readonly #request: Inbound & Answered;
  readonly #find: (caller: Caller) => SseConnection;
  #connection: SseConnection | undefined;

  constructor(request: Inbound & Answered, find: (caller: Caller) => SseConnection) {
    ({
      http: this.http,
      endpoint: this.endpoint,
      query: this.query,
      headers: this.headers,
      clientAddress: this.clientAddress,
    } = request);
    this.#request = request;
    this.#find = find;
  }

  get sessionId(): string | undefined {
    return this.#connection?.sessionId;
  }

  get body(): Buffer {
    return this.#request.body;
  }

  correlationId(): string {
    return this.#request.correlationId();
  }

  async receive(caller: Caller): Promise<void> {
    this.#find(caller);
    await this.#request.receive(caller);
    // It may have gone meanwhile.
    this.#connection = this.#find(caller);
    // What is no message has no answer that its sender would find on the stream.
    readEnvelope(this.body);
    this.#request.answer({ kind: 'whole', status: 202 });
  }

  send(message: Buffer): boolean {
    return this.#connection?.stream.send(message) ?? false;
  }

  backlog(): Promise<void> | undefined {
    return this.#connection?.stream.backlog();
  }

  onGone(run: () => void): void {
    this.#connection?.stream.onClosed(run);
  }
}

const idIn = (query: string): string => new URLSearchParams(query).get('sessionId') ?? '';

const notFound = (): VmcpError =>
  new VmcpError('session_not_found', 'no such connection; open a new one with GET /sse');
