import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ping, WebSocket } from 'undici';
import type { Connection } from '../api/kubeconfig.ts';
import type { Clock, Timer } from '../../runtime/process/index.ts';
import { BOUNDS } from './bounds.ts';
import type { Link } from './server-process.ts';

export interface ContainerAddress {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The open connection to a container's standard input and output. */
export interface Attachment {
  readonly link: Link;
  /** Why it is over: `hasExited` when the API server said that the container's program has ended. */
  readonly ended: Promise<Ended>;
  readonly close: () => void;
}

/** How an attachment ended. */
export interface Ended {
  readonly hasExited: boolean;
  readonly reason: string;
}

export interface AttachDeps {
  readonly connection: Pick<Connection, 'origin' | 'pathPrefix' | 'dispatcher' | 'authorization'>;
  readonly clock: Clock;
  /** Takes what the container writes to its standard output. */
  readonly onOutput: (chunk: Buffer) => void;
}

/**
 * Kubernetes "remotecommand": the first byte of each message says what it belongs to. v4 differs in what is not used
 * here.
 */
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const STDIN = Buffer.from([0]);
const STDOUT = 1;
const STATUS = 3;

const OPEN_MS = 10_000;
/** API servers and load balancers drop what is silent; a peer that answers none of two is gone. */
const PING_MS = 30_000;
/** Of one message; servers refuse large ones. */
const FRAME_BYTES = 32 * 1024;

/** What is asked of the API server. */
export const attachCall = ({
  namespace,
  pod,
  container,
}: ContainerAddress): { readonly path: string; readonly query: Readonly<Record<string, string>> } => ({
  path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/attach`,
  query: { container, stdin: 'true', stdout: 'true', stderr: 'false', tty: 'false' },
});

/**
 * Attaches to a running container. Throws when the API server does not let us, without its reason, which a WebSocket
 * does not tell.
 */
export const attach = async (
  address: ContainerAddress,
  { connection, clock, onOutput }: AttachDeps,
  signal: AbortSignal,
): Promise<Attachment> => {
  const authorization = await connection.authorization();
  const { path, query } = attachCall(address);
  const origin = connection.origin.replace(/^http/, 'ws');
  const url = `${origin}${connection.pathPrefix}${path}?${new URLSearchParams(query).toString()}`;
  const socket = new WebSocket(url, {
    protocols: PROTOCOLS,
    dispatcher: connection.dispatcher,
    headers: { 'user-agent': 'vmcp-bridge', ...(authorization !== undefined && { authorization }) },
  });
  socket.binaryType = 'arraybuffer';
  const ended = endOf(socket, clock, onOutput);
  await opened(socket, clock, signal);
  return {
    link: { send: (message) => send(socket, message) },
    ended,
    close: () => socket.close(),
  };
};

const opened = (socket: WebSocket, clock: Clock, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      done();
      socket.close();
      reject(new Error(reason));
    };
    const onAbort = (): void => fail('the bridge is stopping');
    const onError = (): void => fail('the API server does not let us attach');
    const onOpen = (): void => {
      done();
      resolve();
    };
    const timer = clock.after(OPEN_MS, () => fail(`the API server does not answer within ${OPEN_MS / 1000} s`));
    const done = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      socket.removeEventListener('error', onError);
      socket.removeEventListener('open', onOpen);
    };
    signal.addEventListener('abort', onAbort);
    socket.addEventListener('error', onError);
    socket.addEventListener('open', onOpen);
  });

const send = (socket: WebSocket, message: Buffer): boolean => {
  if (socket.readyState !== WebSocket.OPEN) return false;
  if (socket.bufferedAmount > 0 && socket.bufferedAmount + message.length > BOUNDS.waitingBytes) return false;
  const line = Buffer.concat([message, LINE_END]);
  for (let at = 0; at < line.length; at += FRAME_BYTES)
    socket.send(Buffer.concat([STDIN, line.subarray(at, at + FRAME_BYTES)]));
  return true;
};

const LINE_END = Buffer.from('\n');

const endOf = (socket: WebSocket, clock: Clock, onOutput: AttachDeps['onOutput']): Promise<Ended> =>
  new Promise((resolve) => {
    let status: Status = {};
    const heard = keepAlive(socket, clock, () => over({ hasExited: false, reason: 'the API server has gone silent' }));
    const over = (ended: Ended): void => {
      heard.stop();
      resolve(ended);
    };
    socket.addEventListener('message', ({ data }) => {
      heard.now();
      if (!(data instanceof ArrayBuffer)) return;
      const bytes = Buffer.from(data);
      if (bytes[0] === STDOUT) onOutput(bytes.subarray(1));
      else if (bytes[0] === STATUS) status = statusIn(bytes.subarray(1));
    });
    socket.addEventListener('error', () => over({ hasExited: false, reason: 'the connection broke' }));
    socket.addEventListener('close', ({ code, reason }) =>
      over({
        hasExited: status.status === 'Success',
        reason: status.message ?? (reason === '' ? `closed with ${code}` : reason),
      }),
    );
  });

interface Status {
  readonly status?: string;
  readonly message?: string;
}

const statusIn = (text: Buffer): Status => {
  try {
    return JSON.parse(text.toString()) as Status;
  } catch {
    return {};
  }
};

const PONG = 'undici:websocket:pong';

/** A connection that broke without a word would look like a server that has nothing to say. */
const keepAlive = (
  socket: WebSocket,
  clock: Clock,
  onSilent: () => void,
): { readonly now: () => void; readonly stop: () => void } => {
  let unanswered = 0;
  const now = (): void => {
    unanswered = 0;
  };
  const onPong = (message: unknown): void => {
    if ((message as { readonly websocket?: unknown }).websocket === socket) now();
  };
  const beat = (): void => {
    if (unanswered >= 2) {
      socket.close();
      return onSilent();
    }
    unanswered += 1;
    if (socket.readyState === WebSocket.OPEN) ping(socket);
    timer = clock.after(PING_MS, beat);
  };
  let timer: Timer = clock.after(PING_MS, beat);
  subscribe(PONG, onPong);
  const stop = (): void => {
    timer.cancel();
    unsubscribe(PONG, onPong);
  };
  return { now, stop };
};
