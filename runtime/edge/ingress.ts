import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ByteBudget, Share } from '../byte-budget.ts';
import type { RequestHead } from '../call.ts';
import type { Clock } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import type { ClientShare } from './client-shares.ts';
import { addCorsHeaders } from './cors.ts';
import type { Sender } from './forwarded.ts';
import type { HostCheck } from './hosts.ts';
import { RequestsUnderWay } from './requests-under-way.ts';
import type { SlowClientBounds } from './slow-client.ts';

export interface IngressDeps {
  /** The rules of the moment. */
  readonly hosts: () => HostCheck;
  readonly clock: Clock;
  /** From the first word of a stop on, every answer asks the client to come back on a new connection, to another replica. */
  readonly isLeaving: () => boolean;
  readonly bounds: IngressBounds;
  /** Shared by the request bodies under way. */
  readonly bodies: ByteBudget;
  /** A client was cut off, since it takes its answers too slowly. */
  readonly onCut: (reason: string, request: RequestHead) => void;
  /** Shared by the answers that are made or wait for their clients to take them. */
  readonly answers: ByteBudget;
}

export interface IngressBounds extends SlowClientBounds {
  /** Under way at one time; streams that are answers by themselves do not count. */
  readonly requests: number;
  /** Of each body and of each answer: so much needs no room beside the others. */
  readonly uncountedBytes: number;
  /** A body that arrives for longer gives way where there is no room for another one. */
  readonly bodyYieldsMs: number;
}

/** What one request holds until its answer is sent. */
export interface Held {
  readonly sender: Sender;
  readonly client: ClientShare;
  readonly body: Share;
  readonly answer: Share;
  /** The answer is a stream, which is no request any more. */
  isStream: boolean;
  /** What is still to come: that it is answered, and that the answer is sent. */
  parts: number;
}

/** What every request from outside passes, to MCP or to another route: who sent it, whether it may come in, and its share of the room. */
export class Ingress {
  readonly underWay: RequestsUnderWay;
  readonly clock: Clock;
  readonly bounds: IngressBounds;
  readonly onCut: IngressDeps['onCut'];
  readonly #deps: IngressDeps;

  constructor(deps: IngressDeps) {
    this.underWay = new RequestsUnderWay(deps.bounds.requests, deps);
    this.clock = deps.clock;
    this.bounds = deps.bounds;
    this.onCut = deps.onCut;
    this.#deps = deps;
  }

  /** Counts a request until its connection has its answer or is gone, and `part` was called. */
  enter(request: IncomingMessage, response: ServerResponse): Held {
    const sender = this.#deps.hosts().senderOf(request.socket.remoteAddress, request.headers);
    const client = this.underWay.enter(sender.address);
    const [body, answer] = [new Share(client.bodies), new Share(client.answers)];
    const held: Held = { sender, client, body, answer, isStream: false, parts: 2 };
    response.on('close', () => this.part(held));
    return held;
  }

  /**
   * Refuses a request for which there is no room, or whose Host or Origin is not allowed. What the answer needs, refusals included, is
   * added to `headers`: names and values in turn.
   */
  admit({ sender, client }: Held, origin: string | undefined, headers: string[]): void {
    if (this.#deps.isLeaving()) headers.push('connection', 'close');
    if (this.underWay.isTooMany(client)) throw tooMany();
    checkHost(this.#deps.hosts(), sender.host, origin);
    if (origin !== undefined) addCorsHeaders(headers, origin);
  }

  /** A client that takes its answers slowly, or not at all, makes us hold them. Throws `overloaded` where there is no room for that. */
  holdAnswer({ answer }: Held, bytes: number): void {
    if (bytes > this.bounds.uncountedBytes && !answer.resize(bytes)) throw noRoom();
  }

  /** The refusal of a request is out: what its client still sends of it is thrown away, and takes no place from others. */
  refused(held: Held): void {
    held.parts = Math.min(held.parts, 1);
    this.part(held);
  }

  /** Over is what is answered and sent: a client that hangs up cancels nothing, a slow one still gets the rest. */
  part(held: Held): void {
    if (held.parts === 0) return;
    held.parts -= 1;
    if (held.parts > 0) return;
    held.body.release();
    held.answer.release();
    if (!held.isStream) this.underWay.leave(held.client);
  }
}

const checkHost = (check: HostCheck, host: string | undefined, origin: string | undefined): void => {
  if (!check.isHostAllowed(host)) {
    const remedy = 'use an address, the name of the Service, or a name listed in extensions.allowedHosts';
    throw new VmcpError('host_not_allowed', `this Host is not allowed; ${remedy}`);
  }
  if (origin !== undefined && !check.isOriginAllowed(origin, host))
    throw new VmcpError('origin_not_allowed', 'this Origin is not allowed; list it in extensions.allowedOrigins');
};

const tooMany = (): VmcpError => new VmcpError('overloaded', 'too many requests are under way; try again');

const noRoom = (): VmcpError => new VmcpError('overloaded', 'too many large answers are under way; try again');
