import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Share, runInBatch } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { WholeBody } from '../http/index.ts';

export interface BodyBounds {
  readonly maxBytes: number;
  /** Makes the error for a longer body. */
  readonly tooLarge: () => VmcpError;
  /** Bytes of one body that need no room in `share`. */
  readonly uncountedBytes: number;
  /** Share of the budget of all bodies; to be released by the caller once the request is over. */
  readonly share: Share;
  /** A body that takes longer than this to arrive is refused when another one needs the room. */
  readonly yieldsMs: number;
  readonly now: () => number;
}

/**
 * Reads the whole body into `into`. Throws by the announced length before anything is read; `overloaded` when there is
 * no room.
 */
export const readBody = (request: IncomingMessage, bounds: BodyBounds, into: { body: Buffer }): Promise<void> =>
  new Promise((resolve, reject) => new BodyReader(request, bounds, { into, resolve, reject }).start());

interface Waiting {
  readonly into: { body: Buffer };
  readonly resolve: () => void;
  readonly reject: (error: VmcpError) => void;
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #bounds: BodyBounds;
  readonly #waiting: Waiting;
  readonly #body = new WholeBody();
  readonly #announced: string | undefined;

  constructor(request: IncomingMessage, bounds: BodyBounds, waiting: Waiting) {
    this.#request = request;
    this.#bounds = bounds;
    this.#waiting = waiting;
    this.#announced = request.headers['content-length'];
  }

  start(): void {
    const { maxBytes, tooLarge, share } = this.#bounds;
    const { into, resolve, reject } = this.#waiting;
    if (this.#request.destroyed) return reject(new VmcpError('cancelled', 'the client went away'));
    if (Number(this.#announced ?? 0) > maxBytes) return this.#refuse(tooLarge());
    this.#request.on('data', this.#take);
    this.#request.on('end', () => {
      share.keep();
      runInBatch(() => {
        into.body = this.#body.take();
        resolve();
      });
    });
    this.#request.on('error', (cause) => reject(new VmcpError('cancelled', 'the client went away', { cause })));
  }

  readonly #take = (chunk: Buffer): void => {
    const { maxBytes, tooLarge, uncountedBytes, share, yieldsMs, now } = this.#bounds;
    const bytes = this.#body.length + chunk.length;
    if (bytes > maxBytes) return this.#refuse(tooLarge());
    if (bytes > uncountedBytes) {
      if (!share.resize(bytes)) return this.#refuse(noRoom());
      if (this.#body.length <= uncountedBytes) this.#giveWayAfter(now() + yieldsMs);
    }
    this.#body.append(chunk, this.#announced);
  };

  #giveWayAfter(due: number): void {
    const { share, now } = this.#bounds;
    share.mayGiveWay({ isDue: () => now() >= due, cut: () => this.#refuse(noRoom()) });
  }

  #refuse(error: VmcpError): void {
    this.#request.off('data', this.#take);
    this.#body.drop();
    this.#bounds.share.release();
    this.#waiting.reject(error);
  }
}

/** Bytes discarded of a refused request before its connection is closed. */
export const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
/** A client that sends no byte for this long is taken to be done. */
export const DISCARD_IDLE_MS = 1_000;

/**
 * Discards the rest of a request, then calls `done`. A client that is still sending would not see an answer whose
 * connection is closed before that (RFC 9112 §9.6).
 */
export const discardBody = (request: IncomingMessage, done: () => void): void => {
  let bytes = 0;
  request.setTimeout(DISCARD_IDLE_MS, done);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) request.destroy();
  });
  request.on('close', done);
};

/**
 * Sends the whole answer at once to a client that still sends its request, and ends the response once the request has
 * arrived.
 */
export const writeEarly = (request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void => {
  if (body) response.write(body);
  else response.flushHeaders();
  const { socket } = request;
  const end = (): void => {
    socket.off(NEXT_REQUEST, end);
    response.end();
  };
  socket.on(NEXT_REQUEST, end);
  discardBody(request, end);
};

/**
 * Event of a socket: another request begins on it, so that the one before has arrived. A client that already has the
 * whole answer may send the next request right behind the body, and both are then read in one piece.
 */
export const NEXT_REQUEST = 'nextRequest';

/** The error for a body longer than any that is accepted. */
export const tooLarge = (): VmcpError => new VmcpError('body_too_large', 'the request body is too large');

const noRoom = (): VmcpError => new VmcpError('overloaded', 'too many large requests are under way; try again');
