import {
  bodyOf,
  isSameCaller,
  type Caller,
  type Inbound,
  type OpenFor,
  type OpenStream,
  type Reply,
  type StreamReply,
  type WholeReply,
} from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { readEnvelope } from './envelope.ts';
import { StreamSlots } from './stream-slots.ts';

export interface SseConnectionsDeps {
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  /** Ends the session with this id, when there still is one. */
  readonly endSession: (id: string) => void;
  /** Streams open at one time; one address may have half as many. */
  readonly limit: number;
}

/** A stream that a client of 2024-11-05 reads its answers from, while it POSTs to an address of its own. */
interface SseConnection {
  /** By the token presented last. */
  caller: Caller;
  readonly stream: OpenStream;
  /** POSTs whose answers are not sent yet. */
  underWay: number;
  /** The stream ends as soon as nothing is under way. */
  isEnding?: true;
  isInitialized?: boolean;
  /** Set once `initialize` has been answered. */
  sessionId?: string;
}

/**
 * HTTP+SSE, the transport of 2024-11-05, in terms of Streamable HTTP: the same messages and sessions, answered over one
 * stream.
 */
export class SseConnections {
  readonly #deps: SseConnectionsDeps;
  readonly #connections = new Map<string, SseConnection>();
  readonly #slots: StreamSlots;

  constructor(deps: SseConnectionsDeps) {
    this.#deps = deps;
    this.#slots = new StreamSlots(deps.limit);
  }

  /** As `StreamSlots`. */
  get utilization(): number {
    return this.#slots.utilization;
  }

  /** `GET /sse`. The first event tells where to POST. */
  open(caller: Caller, address: string | undefined): StreamReply {
    const release = this.#slots.take(address);
    if (!release) throw new VmcpError('overloaded', 'too many clients are connected; try again later');
    const id = this.#deps.newId();
    return {
      kind: 'stream',
      open: (stream) => {
        const connection: SseConnection = { caller, stream, underWay: 0 };
        this.#connections.set(id, connection);
        stream.onClosed(() => {
          this.#connections.delete(id);
          release();
          if (connection.sessionId !== undefined) this.#deps.endSession(connection.sessionId);
        });
        // Relative, so that it is right behind a proxy that adds a path, too.
        stream.send(Buffer.from(`messages?sessionId=${id}`), 'endpoint');
      },
      abandon: release,
    };
  }

  /** Id of the session that messages to this address belong to; undefined before `initialize`. */
  sessionOf(query: string): string | undefined {
    return this.#find(query).sessionId;
  }

  /**
   * The POST as a request of Streamable HTTP whose answers go to the stream. The POST itself is answered 202.
   */
  streamed(request: Inbound & Answered): Streamed {
    return new StreamedRequest(request, (caller) => this.#findOf(request.query, caller));
  }

  /** Sends the answer to such a POST on the stream; does nothing when the client has gone. */
  answer({ query }: Pick<Inbound, 'query'>, reply: Reply): void {
    const connection = this.#connections.get(idIn(query));
    if (!connection || reply.kind === 'stream') return;
    const at = reply.headers?.indexOf('mcp-session-id') ?? -1;
    if (at >= 0 && connection.sessionId === undefined) connection.sessionId = reply.headers?.[at + 1] ?? '';
    const body = bodyOf(reply);
    if (body) connection.stream.send(body);
  }

  /** Creates the session of the connection with `open`, at most one. Where `open` fails, the client may try again. */
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

  /** The stream of the connection, for messages of the session between calls. */
  streamOf({ query }: Pick<Inbound, 'query'>): OpenStream {
    const connection = this.#find(query);
    return { ...connection.stream, end: () => endAfterAnswers(connection) };
  }

  /** The connections, for a check of their callers. */
  openFor(): readonly OpenFor[] {
    return [...this.#connections.values()].map((connection) => {
      const { caller } = connection;
      return {
        caller,
        method: 'GET',
        keep: (verified) => {
          if (connection.caller === caller) connection.caller = verified;
        },
        end: () => {
          const isUnknown = connection.caller === caller && !connection.isEnding;
          if (isUnknown) endAfterAnswers(connection);
          return isUnknown;
        },
      };
    });
  }

  /** Throws `session_not_found` for unknown connections and for those of other callers alike. */
  #findOf(query: string, caller: Caller): SseConnection {
    const connection = this.#find(query);
    if (!isSameCaller(connection.caller, caller)) throw notFound();
    connection.caller = caller;
    return connection;
  }

  #find(query: string): SseConnection {
    const connection = this.#connections.get(idIn(query));
    if (!connection) throw notFound();
    return connection;
  }
}

/** All answers go to the one stream, so it ends after those that are awaited. */
const endAfterAnswers = (connection: SseConnection): void => {
  connection.isEnding = true;
  if (connection.underWay === 0) connection.stream.end();
};

/** A request whose answer goes to the stream. */
export interface Streamed extends Inbound {
  /** To be called once, after the answer was sent. */
  over(): void;
}

interface Answered {
  readonly answer: (reply: WholeReply) => void;
}

/**
 * The connection is looked up once the caller is authenticated: other callers can neither probe for connections nor
 * write on them.
 */
class StreamedRequest implements Streamed {
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
    // The connection may have closed meanwhile.
    this.#connection = this.#find(caller);
    this.#connection.underWay += 1;
    // A body that is no JSON-RPC message is refused on the POST itself: its sender could not match an answer on the
    // stream.
    readEnvelope(this.body);
    this.#request.answer({ kind: 'whole', status: 202 });
  }

  over(): void {
    const connection = this.#connection;
    if (!connection) return;
    connection.underWay -= 1;
    if (connection.isEnding) endAfterAnswers(connection);
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
