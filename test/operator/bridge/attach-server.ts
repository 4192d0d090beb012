import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** An API server as far as attaching goes: WebSocket (RFC 6455) with the channels of Kubernetes' remote commands. */
export interface AttachServer {
  readonly origin: string;
  /** Of the upgrade requests. */
  readonly requests: readonly IncomingMessage[];
  /** What has come on standard input so far. */
  readonly stdin: () => string;
  /** Pings that have come. */
  readonly pings: () => number;
  readonly say: (channel: number, text: string) => void;
  /** Answers no ping from now on. */
  readonly beSilent: () => void;
  /** Ends the connection as a WebSocket ends, or breaks it off. */
  readonly end: (how: 'closed' | 'broken') => void;
  readonly close: () => Promise<void>;
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

export const startAttachServer = async ({ refuses = false } = {}): Promise<AttachServer> => {
  const requests: IncomingMessage[] = [];
  const stdin: Buffer[] = [];
  let pings = 0;
  let isSilent = false;
  let current: Socket | undefined;
  const server = createServer((_request, response) => response.writeHead(400).end());
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    requests.push(request);
    if (refuses) {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    current = socket;
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: v5.channel.k8s.io\r\n\r\n`,
    );
    let waiting = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      waiting = Buffer.concat([waiting, chunk]);
      for (let frame = frameIn(waiting); frame; frame = frameIn(waiting)) {
        waiting = waiting.subarray(frame.bytes);
        if (frame.opcode === BINARY && frame.payload[0] === 0) stdin.push(frame.payload.subarray(1));
        if (frame.opcode === PING) {
          pings += 1;
          if (!isSilent) socket.write(frameOf(PONG, frame.payload));
        }
        if (frame.opcode === CLOSE) socket.end(frameOf(CLOSE, frame.payload));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stdin: () => Buffer.concat(stdin).toString(),
    pings: () => pings,
    say: (channel, text) =>
      void current?.write(frameOf(BINARY, Buffer.concat([Buffer.from([channel]), Buffer.from(text)]))),
    beSilent: () => {
      isSilent = true;
    },
    end: (how) => void (how === 'broken' ? current?.destroy() : current?.write(frameOf(CLOSE, Buffer.from([3, 232])))),
    close: async () => {
      current?.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

const frameOf = (opcode: number, payload: Buffer): Buffer => {
  const { length } = payload;
  const head =
    length < 126 ? Buffer.from([0x80 | opcode, length]) : Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff]);
  return Buffer.concat([head, payload]);
};

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly bytes: number;
}

/** Frames of clients are masked. */
const frameIn = (bytes: Buffer): Frame | undefined => {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const maskAt = 2 + lengthBytes;
  if (bytes.length < maskAt + 4) return undefined;
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = maskAt + 4 + length;
  if (bytes.length < end) return undefined;
  const payload = bytes.subarray(maskAt + 4, end).map((byte, index) => byte ^ (bytes[maskAt + (index % 4)] ?? 0));
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload: Buffer.from(payload), bytes: end };
};
