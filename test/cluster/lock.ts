import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Runs `work` while no other process of this machine does the same under that name. The lock is an abstract Unix
 * socket: the kernel lets go of it when the holder dies, however it dies, so that nobody ever has to guess whether a
 * lock is stale.
 */
export async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const release = await acquire(name);
  try {
    return await work();
  } finally {
    await release();
  }
}

/** Takes the lock and keeps it until the returned function is called, or until this process ends. */
export const acquire = async (name: string): Promise<() => Promise<void>> => (await acquireOneOf([name])).release;

/** One of several locks, and what gives it back. */
export interface Acquired {
  /** Index of its name. */
  readonly index: number;
  readonly release: () => Promise<void>;
}

/** The same with the first of the locks that is free, or else becomes so. */
export async function acquireOneOf(names: readonly string[]): Promise<Acquired> {
  const addresses = names.map((name) => `\0vmcp-test-${createHash('sha256').update(name).digest('hex')}`);
  for (;;) {
    for (const [index, address] of addresses.entries()) {
      const release = await taken(address);
      if (release !== undefined) return { index, release };
    }
    await anyHolderGone(addresses);
  }
}

async function taken(address: string): Promise<(() => Promise<void>) | undefined> {
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket);
    socket.on('error', () => socket.destroy());
    socket.unref();
  });
  if (!(await listens(server, address))) return undefined;
  server.unref();
  return () => release(server, waiting);
}

async function listens(server: Server, address: string): Promise<boolean> {
  try {
    server.listen(address);
    await once(server, 'listening');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}

/** A connection to a holder ends when the holder lets go. */
async function anyHolderGone(addresses: readonly string[]): Promise<void> {
  const sockets = addresses.map((address) => connect(address));
  await new Promise<void>((resolve) => {
    for (const socket of sockets) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => resolve());
      socket.resume();
    }
  });
  for (const socket of sockets) socket.destroy();
}

async function release(server: Server, waiting: Set<Socket>): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  for (const socket of waiting) socket.destroy();
  await closed;
}
