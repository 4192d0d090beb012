import type { IncomingMessage } from 'node:http';
import { VmcpError } from '../errors.ts';

const tooLarge = (): VmcpError => new VmcpError('body_too_large', 'the request body is too large');

/** The whole body. Throws `body_too_large`, by the announced length before anything is read. */
export const readBody = (request: IncomingMessage, maxBytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      request.resume();
      return reject(tooLarge());
    }
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        // The rest is read and thrown away: a client that is still sending would not see the answer otherwise.
        first = undefined;
        more = undefined;
        return reject(tooLarge());
      }
      if (!first) first = chunk;
      else (more ??= [first]).push(chunk);
    });
    request.on('end', () => resolve(more ? Buffer.concat(more) : (first ?? Buffer.alloc(0))));
    request.on('error', (cause) => reject(new VmcpError('cancelled', 'the client went away', { cause })));
  });
