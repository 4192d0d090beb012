import type { IncomingMessage } from 'node:http';
import type { Share } from '../byte-budget.ts';
import { VmcpError } from '../errors.ts';
import { WholeBody } from '../whole-body.ts';

export interface BodyBounds {
  readonly maxBytes: number;
  /** What a longer body is refused with. */
  readonly tooLarge: () => VmcpError;
  /** Bytes of one body that need no room in `share`. */
  readonly uncountedBytes: number;
  /** Of what all bodies may hold together; to be released by the caller once the request is over. */
  readonly share: Share;
  /** A body that arrives for longer gives way where there is no room for another one. */
  readonly yieldsMs: number;
  readonly now: () => number;
}

/** The whole body. Throws by the announced length before anything is read; `overloaded` when there is no room. */
export const readBody = (request: IncomingMessage, bounds: BodyBounds): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { maxBytes, tooLarge, uncountedBytes, share, yieldsMs, now } = bounds;
    const announced = request.headers['content-length'];
    const body = new WholeBody();
    const refuse = (error: VmcpError): void => {
      request.off('data', take);
      body.take();
      share.release();
      reject(error);
    };
    const giveWayAfter = (due: number): void =>
      share.mayGiveWay({ isDue: () => now() >= due, cut: () => refuse(noRoom()) });
    const take = (chunk: Buffer): void => {
      const bytes = body.length + chunk.length;
      if (bytes > maxBytes) return refuse(tooLarge());
      if (bytes > uncountedBytes) {
        if (!share.resize(bytes)) return refuse(noRoom());
        if (body.length <= uncountedBytes) giveWayAfter(now() + yieldsMs);
      }
      body.append(chunk, announced);
    };
    if (request.destroyed) return reject(new VmcpError('cancelled', 'the client went away'));
    if (Number(announced ?? 0) > maxBytes) return refuse(tooLarge());
    request.on('data', take);
    request.on('end', () => {
      share.keep();
      resolve(body.take());
    });
    request.on('error', (cause) => reject(new VmcpError('cancelled', 'the client went away', { cause })));
  });

/** Of a request that is refused, before its connection is broken. */
const MAX_READ_AWAY_BYTES = 64 * 1024 * 1024;
/** Without a byte. */
const SENDS_NO_MORE_MS = 1_000;

/**
 * Throws away what is still to come of a request. A client that is still sending would not see an answer whose connection is closed
 * before that (RFC 9112 §9.6).
 */
export const readAway = (request: IncomingMessage, done: () => void): void => {
  let bytes = 0;
  request.setTimeout(SENDS_NO_MORE_MS, done);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_READ_AWAY_BYTES) request.destroy();
  });
  request.on('close', done);
};

const noRoom = (): VmcpError => new VmcpError('overloaded', 'too many large requests are under way; try again');
