import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ByteBudget, Share, type Clock } from '../process/index.ts';
import type { RequestHead } from '../call/index.ts';
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
  readonly bounds: IngressBounds;
  /** Shared by the request bodies under way. */
  readonly bodies: ByteBudget;
  /** Called when a client was cut off since it reads its answers too slowly. */
  readonly onCut: (reason: string, request: RequestHead) => void;
  /** Shared by the answers that are being made or wait for their clients to read them. */
  readonly answers: ByteBudget;
}

export interface IngressBounds extends SlowClientBounds {
  /** Under way at one time; streams that are answers by themselves do not count. */
  readonly requests: number;
  /** Bytes of each body and of each answer that need no room in the shared budgets. */
  readonly uncountedBytes: number;
  /** A body that takes longer than this to arrive is refused when another one needs the room. */
  readonly bodyYieldsMs: number;
}

/** What one request holds until its answer is sent. */
export interface RequestShares {
  readonly sender: Sender;
  readonly client: ClientShare;
  readonly body: Share;
  readonly answer: Share;
  /** The answer is a stream, which is no request any more. */
  isStream: boolean;
  /** Steps still to come: the request is answered, and the answer is sent. */
  stepsLeft: number;
}

/**
 * Admits every request from outside, to MCP or to another route: finds its sender, checks Host and Origin, and gives it
 * a share of the budgets.
 */
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
  enter(request: IncomingMessage, response: ServerResponse): RequestShares {
    const sender = this.#deps.hosts().senderOf(request.socket.remoteAddress, request.headers);
    const client = this.underWay.enter(sender.address);
    const [body, answer] = [new Share(client.bodies), new Share(client.answers)];
    const held: RequestShares = { sender, client, body, answer, isStream: false, stepsLeft: 2 };
    response.on('close', () => this.stepDone(held));
    return held;
  }

  /**
   * Refuses a request for which there is no room, or whose Host or Origin is not allowed. The CORS headers, which
   * refusals need, too, are added to `headers`: names and values in turn.
   */
  admit({ sender, client }: RequestShares, origin: string | undefined, headers: string[]): void {
    if (this.underWay.isTooMany(client)) throw tooMany();
    checkHost(this.#deps.hosts(), sender.host, origin);
    if (origin !== undefined) addCorsHeaders(headers, origin);
  }

  /**
   * An answer stays in memory while its client reads it slowly, or not at all. Throws `overloaded` where there is no
   * room for that.
   */
  holdAnswer({ answer }: RequestShares, bytes: number): void {
    if (bytes > this.bounds.uncountedBytes && !answer.resize(bytes)) throw noRoom();
  }

  /** The refusal of a request is sent: the rest of the request is discarded and the request counts no longer. */
  refused(held: RequestShares): void {
    held.stepsLeft = Math.min(held.stepsLeft, 1);
    this.stepDone(held);
  }

  /**
   * Ends one of the two steps; a request that is answered and sent is over. A client that hangs up cancels nothing, a
   * slow one still gets the rest.
   */
  stepDone(held: RequestShares): void {
    if (held.stepsLeft === 0) return;
    held.stepsLeft -= 1;
    if (held.stepsLeft > 0) return;
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
