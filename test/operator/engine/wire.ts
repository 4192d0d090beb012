import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect as connectTcp, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { ApiAccess } from '../../cluster/index.ts';

/** A way to the API server that can be cut. */
export interface Wire {
  /** Path of a kubeconfig that goes this way. */
  readonly kubeconfig: string;
  /** Connections made so far. */
  connections(): number;
  /** Ends every connection; new ones are let through. */
  cut(): void;
  /** Answers wait until `release`; questions get through. */
  hold(): void;
  release(): void;
  /** Ends every connection and refuses new ones. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

export const wireTo = async (cluster: ApiAccess, kubeconfig: string): Promise<Wire> => {
  const target = Number(new URL(cluster.url).port);
  const sockets = new Set<Socket>();
  /** Ours to the API server → the one that its answers go to. */
  const answering = new Map<Socket, Socket>();
  let connections = 0;
  let isHeld = false;
  const server = createServer((inner) => {
    connections += 1;
    const outer = connectTcp(target, '127.0.0.1');
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          inner.destroy();
          outer.destroy();
        });
    }
    inner.pipe(outer);
    if (!isHeld) outer.pipe(inner);
    answering.set(outer, inner);
    outer.on('close', () => answering.delete(outer));
  });
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const path = `${kubeconfig}-wire-${port}`;
  await writeFile(path, (await readFile(kubeconfig, 'utf8')).replace(cluster.url, `https://127.0.0.1:${port}`));
  const down = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    cut();
    await closed;
  };
  return {
    kubeconfig: path,
    connections: () => connections,
    cut,
    hold: () => {
      isHeld = true;
      answering.forEach((inner, outer) => outer.unpipe(inner));
    },
    release: () => {
      isHeld = false;
      answering.forEach((inner, outer) => outer.pipe(inner));
    },
    down,
    up: async () => {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    stop: async () => {
      if (server.listening) {
        await down();
      }
    },
  };
};
