import type { Clock } from '../../runtime/process/index.ts';
import { type Envelope, readEnvelope } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { splice, memberAt } from '../../runtime/json/index.ts';
import { WaitableValue } from './waitable-value.ts';
import { BOUNDS } from './bounds.ts';
import { notificationOf, paramOf, progressTokenOf, upstreamRequest } from './messages.ts';

/** The way to the server's standard input, while there is one. */
export interface Link {
  /** One message, without line end. False when too much waits to be taken. */
  readonly send: (message: Buffer) => boolean;
}

export interface UpstreamRequest<Owner> {
  readonly envelope: Envelope;
  /** Whose it is; absent: our own. */
  readonly owner?: Owner;
  /** Takes progress as the owner shall see it. */
  readonly onProgress?: (notification: Buffer) => void;
}

interface Pending<Owner> extends UpstreamRequest<Owner> {
  readonly progressToken: Buffer | undefined;
  readonly resolve: (response: Envelope) => void;
  readonly reject: (error: unknown) => void;
}

/** A request that was given up although the server may still work on it. */
interface Abandoned<Owner> {
  readonly owner: Owner | undefined;
  readonly method: string;
  readonly until: number;
  isCancelSent: boolean;
}

export interface ServerProcessDeps {
  readonly clock: Clock;
  readonly onRequest: (request: Envelope) => void;
  readonly onNotification: (notification: Envelope) => void;
}

/**
 * MCP 2026-07-28 names the requests during which a server may want something of its client; in older revisions it does
 * so, too.
 */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** One run of the server's program: what was asked of it, under ids of our own. It outlives the connection to it. */
export class ServerProcess<Owner> {
  readonly #deps: ServerProcessDeps;
  readonly #pending = new Map<number, Pending<Owner>>();
  readonly #abandoned = new Map<number, Abandoned<Owner>>();
  readonly #link: WaitableValue<Link>;
  #lastId = 0;
  /** Until then an abandoned request counts whose owner is not known any more, since the list was full. */
  #unknownUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: ServerProcessDeps) {
    this.#deps = deps;
    this.#link = new WaitableValue(deps.clock);
  }

  get isAttached(): boolean {
    return this.#link.value !== undefined;
  }

  attach(link: Link): void {
    this.#link.set(link);
    for (const [id, abandoned] of this.#abandoned) if (!abandoned.isCancelSent) this.#tellAbandoned(id, abandoned);
  }

  /** Rejects every pending request: whether the server has carried it out is unknown. */
  detach(reason: VmcpError): void {
    this.#link.clear();
    for (const [id, pending] of this.#pending) {
      this.#abandon(id, pending);
      pending.reject(reason);
    }
  }

  /**
   * The server's response. Rejects with the reason of `signal`, and with a VmcpError when there is no way to the
   * server.
   */
  async ask(question: UpstreamRequest<Owner>, signal: AbortSignal): Promise<Envelope> {
    const link = await this.#link.waitAtMost(BOUNDS.attachmentMs, signal);
    signal.throwIfAborted();
    if (!link) throw new VmcpError('backend_unreachable', 'the server’s container cannot be reached now; try again');
    this.#lastId += 1;
    const id = this.#lastId;
    if (!link.send(upstreamRequest(question.envelope, id)))
      throw new VmcpError('overloaded', 'the server does not read what it is sent; try again later');
    const progressToken = progressTokenOf(question.envelope);
    return new Promise((resolve, reject) => {
      const pending = { ...question, progressToken, resolve, reject };
      this.#pending.set(id, pending);
      signal.addEventListener('abort', () => this.#giveUp(id, signal.reason), { once: true });
    });
  }

  /** False when there is no way to the server, or too much waits for it. */
  tell(message: Buffer): boolean {
    return this.#link.value?.send(message) ?? false;
  }

  /** Throws `not_json` and `not_json_rpc`. */
  received(line: Buffer): void {
    const envelope = readEnvelope(line);
    if (envelope.kind === 'request') return this.#deps.onRequest(envelope);
    if (envelope.kind === 'response') return this.#settle(envelope);
    if (envelope.method === 'notifications/progress') return this.#progress(envelope);
    this.#deps.onNotification(envelope);
  }

  /** The answer to this request has come and cannot be had. */
  fail(id: number, error: VmcpError): void {
    this.#abandoned.delete(id);
    this.#take(id)?.reject(error);
  }

  /**
   * No request is under way, and none was given up a short while ago: a message of the server belongs to no request.
   */
  get isIdle(): boolean {
    return this.#pending.size === 0 && !this.#isAnyUnknown && this.#mayGoOn().length === 0;
  }

  /** Whose doing it is when the server asks something: undefined when it may be that of several. */
  soleAsker(): Owner | undefined {
    return this.#sole((method) => MAY_ASK.has(method));
  }

  /** Whose requests alone are under way: undefined when they are those of several. */
  soleCaller(): Owner | undefined {
    return this.#sole(() => true);
  }

  #sole(counts: (method: string) => boolean): Owner | undefined {
    if (this.#isAnyUnknown) return undefined;
    const pending = [...this.#pending.values()].filter(({ envelope }) => counts(envelope.method));
    const owners = new Set(pending.map(({ owner }) => owner));
    const [sole] = owners;
    if (owners.size !== 1) return undefined;
    return this.#mayGoOn().some(({ owner, method }) => counts(method) && owner !== sole) ? undefined : sole;
  }

  get #isAnyUnknown(): boolean {
    return this.#unknownUntil > this.#deps.clock.now();
  }

  /** What was given up so short a while ago that the server may still be about it. */
  #mayGoOn(): readonly Abandoned<Owner>[] {
    const now = this.#deps.clock.now();
    return [...this.#abandoned.values()].filter(({ until }) => until > now);
  }

  #take(id: number): Pending<Owner> | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #settle(response: Envelope): void {
    const id = Number(response.id?.toString());
    this.#abandoned.delete(id);
    // A response to a request that was given up is dropped.
    this.#take(id)?.resolve(response);
  }

  #progress(notification: Envelope): void {
    const { body, params } = notification;
    const token = paramOf(notification, 'progressToken');
    const pending = typeof token === 'number' ? this.#pending.get(token) : undefined;
    const span = params && memberAt(body, params.start, 'progressToken');
    if (pending?.progressToken && span) pending.onProgress?.(splice(body, span, pending.progressToken));
  }

  #giveUp(id: number, reason: unknown): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    const abandoned = this.#abandon(id, pending);
    if (abandoned) this.#tellAbandoned(id, abandoned);
    pending.reject(reason);
  }

  #abandon(id: number, pending: Pending<Owner>): Abandoned<Owner> | undefined {
    this.#pending.delete(id);
    // MCP "Cancellation": initialize must not be cancelled.
    if (pending.envelope.method === 'initialize') return undefined;
    const now = this.#deps.clock.now();
    for (const [old, { until }] of this.#abandoned) {
      if (until > now && this.#abandoned.size < BOUNDS.abandoned) break;
      this.#abandoned.delete(old);
      // A client that gives up many requests must not displace those of other clients unnoticed.
      this.#unknownUntil = until;
    }
    const until = now + BOUNDS.abandonedMs;
    const abandoned = { owner: pending.owner, method: pending.envelope.method, until, isCancelSent: false };
    this.#abandoned.set(id, abandoned);
    return abandoned;
  }

  #tellAbandoned(requestId: number, abandoned: Abandoned<Owner>): void {
    abandoned.isCancelSent = this.tell(notificationOf('notifications/cancelled', { requestId }));
  }
}
