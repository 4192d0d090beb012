import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  aroundResult,
  bodyOf,
  type Caller,
  type EventSink,
  type Inbound,
  type OpenStream,
  type PageReply,
  responseWith,
  type StreamRecord,
  type StreamReply,
  type WholeReply,
} from '../call/index.ts';
import type { Clock, Timer } from '../process/index.ts';
import { writeEarly } from './body.ts';
import { acceptsEvents, EVENT_STREAM_HEADERS, eventOf, KEEP_ALIVE } from './event-stream.ts';
import { requestedOrigin } from './forwarded.ts';
import type { RequestShares } from './ingress.ts';
import { cutOffWhenSlow, type SlowClientBounds } from './slow-client.ts';

/** Bytes of a stream that a client may leave unread before it is cut off. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** docs/decisions.md "What initialize says": proxies close streams that say nothing. */
const KEEP_ALIVE_MS = 15_000;

/** What the event loop writes from its stack, without an allocation. */
const ONE_PIECE_BYTES = 12 * 1024;

/** What all exchanges of an endpoint share. */
export interface HttpExchangeDeps {
  readonly clock: Clock;
  readonly newCorrelationId: () => string;
  readonly bounds: ExchangeBounds;
  /** Called when the client was cut off. */
  readonly onCut: (reason: string, exchange: HttpExchange) => void;
  /** Reads the body of the request into the exchange, up to the size that this caller may send. */
  readonly readBody: (exchange: HttpExchange, caller: Caller) => Promise<void>;
}

export interface ExchangeBounds extends SlowClientBounds {
  /** Bytes of each body and of each answer that need no room in the shared budgets. */
  readonly uncountedBytes: number;
}

/** One HTTP request and its response: whole, or an event stream that may begin before the answer is known. */
export class HttpExchange implements Inbound {
  readonly http: Inbound['http'];
  readonly endpoint: Inbound['endpoint'];
  /** Path of the URL, without the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: Inbound['headers'];
  readonly clientAddress: string | undefined;
  readonly request: IncomingMessage;
  readonly held: RequestShares;
  body: Buffer = noBody;
  /** Headers of the answer, whether it succeeds or not: names and values in turn. */
  readonly extra: string[] = [];
  readonly #response: ServerResponse;
  readonly #deps: HttpExchangeDeps;
  #correlationId: string | undefined;
  #keepAlive: Timer | undefined;
  #isAnswered = false;
  #record: StreamRecord | undefined;
  #drained: Promise<void> | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, held: RequestShares, deps: HttpExchangeDeps) {
    const url = request.url ?? '/';
    const question = url.indexOf('?');
    this.path = question < 0 ? url : url.slice(0, question);
    this.http = request.method as Inbound['http'];
    this.endpoint = ENDPOINTS.get(this.path) ?? 'mcp';
    this.query = question < 0 ? '' : url.slice(question + 1);
    this.headers = request.headers;
    this.clientAddress = held.sender.address;
    this.request = request;
    this.held = held;
    this.#response = response;
    this.#deps = deps;
  }

  get sessionId(): string | undefined {
    const id = this.headers['mcp-session-id'];
    return typeof id === 'string' ? id : undefined;
  }

  receive(caller: Caller): void | Promise<void> {
    if (this.http === 'POST') return this.#deps.readBody(this, caller);
  }

  origin(): string | undefined {
    return requestedOrigin(this.held.sender);
  }

  correlationId(): string {
    this.#correlationId ??= this.#deps.newCorrelationId();
    return this.#correlationId;
  }

  record(stream: StreamRecord): void {
    this.#record = stream;
  }

  send(message: Buffer): boolean {
    if (this.#record?.isBegun && !this.#isAnswered) return this.#record.send(message);
    if (this.#isAnswered || this.#response.destroyed) return false;
    if (!this.#response.headersSent) {
      const { accept } = this.headers;
      if (accept !== undefined && !acceptsEvents(accept)) return false;
      this.#startStream([]);
      if (this.#record) this.#beginRecord(this.#record);
    }
    return this.#record ? this.#record.send(message) : this.#writeEvent(message);
  }

  backlog(): Promise<void> | undefined {
    const response = this.#response;
    if (response.destroyed || !response.writableNeedDrain) return undefined;
    this.#drained ??= new Promise((resolve) => {
      const over = (): void => {
        response.off('drain', over).off('close', over);
        this.#drained = undefined;
        resolve();
      };
      response.on('drain', over).on('close', over);
    });
    return this.#drained;
  }

  #beginRecord(record: StreamRecord): void {
    const sink: EventSink = {
      send: (data, id) => this.#writeEvent(data, undefined, id),
      end: () => {
        if (!this.#response.destroyed) this.#endStream(undefined);
      },
    };
    record.begin(sink);
    this.#response.on('close', () => record.disconnect(sink));
  }

  onGone(run: () => void): void {
    this.#response.on('close', () => {
      if (!this.#isAnswered) run();
    });
  }

  /** Sends the answer; does nothing when the client has gone away. */
  answer(reply: WholeReply | PageReply): void {
    if (this.#record?.isBegun && !this.#isAnswered) {
      this.#isAnswered = true;
      return this.#record.finish(bodyOf(reply));
    }
    if (this.#response.destroyed || this.#isAnswered) return;
    if (this.#response.headersSent) this.#endStream(bodyOf(reply));
    else if (reply.kind === 'page') this.#writePage(reply);
    else this.#write(reply);
    // Set only now: where the head cannot be written, an error is answered instead.
    this.#isAnswered = true;
    // A client that still sends its request has a timeout of its own.
    if (this.#isBehind && this.request.complete) this.#cutOffWhenSlow();
  }

  /** Closes the connection. */
  cut(): void {
    this.#response.destroy();
  }

  /** Whether the client has hung up. */
  get isGone(): boolean {
    return this.#response.destroyed;
  }

  /** Whether written bytes wait for the client to read them. */
  get #isBehind(): boolean {
    return !this.#response.destroyed && this.#response.writableLength > 0;
  }

  #cutOffWhenSlow(): void {
    const { clock, bounds } = this.#deps;
    const onCut = (reason: string): void => this.#deps.onCut(reason, this);
    cutOffWhenSlow({ response: this.#response, share: this.held.answer, clock, bounds, onCut });
  }

  /** Begins a stream that is an answer by itself. */
  stream({ headers = [], open, farewell }: StreamReply): OpenStream {
    this.#startStream(headers);
    const response = this.#response;
    const stream: OpenStream = {
      send: (data, event, id) => !this.#isAnswered && this.#writeEvent(data, event, id),
      end: () => {
        if (this.#isAnswered) return;
        this.#isAnswered = true;
        this.#endStream(farewell);
      },
      backlog: () => this.backlog(),
      onClosed: (run) => void response.on('close', run),
    };
    open(stream);
    return stream;
  }

  /**
   * The connection of a stream ends with it. Where a stop ends the stream, a client that had the connection back would
   * send its next request to a process that refuses it, or that closes its connections at that moment.
   */
  #startStream(headers: readonly string[]): void {
    this.#response.shouldKeepAlive = false;
    this.#response.writeHead(200, [...headers, ...EVENT_STREAM_HEADERS, ...this.extra]);
    // Many clients wait for the head before they read.
    this.#response.flushHeaders();
    this.#keepAliveLater();
    this.#response.on('close', () => this.#keepAlive?.cancel());
  }

  #keepAliveLater(): void {
    this.#keepAlive = this.#deps.clock.after(KEEP_ALIVE_MS, () => {
      // Unread bytes keep the stream alive, or show that the client reads nothing.
      if (this.#isBehind) this.#cutOffWhenSlow();
      else this.#response.write(KEEP_ALIVE);
      this.#keepAliveLater();
    });
  }

  #writeEvent(data: Buffer, event?: string, id?: string): boolean {
    const response = this.#response;
    if (response.destroyed) return false;
    const before = response.writableLength;
    const waiting = before + data.length;
    const isCounted = waiting > this.#deps.bounds.uncountedBytes;
    if (before > 0 && waiting > MAX_WAITING_BYTES) return this.#cutOff('it is too far behind with what it is sent');
    if (isCounted && !this.held.answer.resize(waiting))
      return this.#cutOff('there is no room for what it has not taken');
    response.write(eventOf(data, event, id), isCounted ? () => this.#onTaken() : undefined);
    if (isCounted && this.#isBehind) this.#cutOffWhenSlow();
    return true;
  }

  #cutOff(reason: string): false {
    this.#deps.onCut(reason, this);
    this.#response.destroy();
    return false;
  }

  /** A stream that stays open must not keep the room that its largest message took. */
  #onTaken(): void {
    if (this.#response.destroyed) return;
    const waiting = this.#response.writableLength;
    if (waiting <= this.#deps.bounds.uncountedBytes) this.held.answer.release();
    else this.held.answer.resize(waiting);
  }

  #endStream(last: Buffer | undefined): void {
    this.#keepAlive?.cancel();
    if (last) this.#response.end(eventOf(last));
    else this.#response.end();
  }

  /** A large page is written as it is: to copy it would take longer than all else of its answer. */
  #writePage({ id, page }: PageReply): void {
    const [before, after] = aroundResult(id);
    const length = before.length + page.length + after.length;
    if (length <= ONE_PIECE_BYTES) return this.#write({ kind: 'whole', status: 200, body: responseWith(id, page) });
    const response = this.#response;
    response.writeHead(200, ['content-type', 'application/json', 'content-length', String(length), ...this.extra]);
    response.write(before, 'latin1');
    response.write(page);
    response.end(after, 'latin1');
  }

  /** One head and one write. */
  #write({ status, headers, body }: WholeReply): void {
    const head = body
      ? ['content-type', 'application/json', 'content-length', String(body.length)]
      : ['content-length', '0'];
    if (headers) head.push(...headers);
    if (this.extra.length > 0) head.push(...this.extra);
    if (status === 204) head.splice(head.indexOf('content-length'), 2);
    this.#response.writeHead(status, head);
    if (!this.request.complete) return writeEarly(this.request, this.#response, body);
    // Node sends a head and a text as one piece, a head and a buffer as two; latin1 keeps every byte as it is.
    if (body && body.length <= ONE_PIECE_BYTES) this.#response.end(body.toString('latin1'), 'latin1');
    else this.#response.end(body);
  }
}

const ENDPOINTS: ReadonlyMap<string, Inbound['endpoint']> = new Map([
  ['/sse', 'sse'],
  ['/messages', 'messages'],
]);

const noBody = Buffer.alloc(0);
