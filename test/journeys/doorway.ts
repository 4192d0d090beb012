import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A port of localhost that leads to a Service, as `kubectl port-forward` does. */
export interface Doorway {
  /** The same for a browser, whatever stands behind it. */
  readonly origin: string;
  readonly leadTo: (target: { readonly host: string; readonly port: number }) => void;
  readonly close: () => Promise<void>;
}

export const openDoorway = async (port: number): Promise<Doorway> => {
  let target: { readonly host: string; readonly port: number } | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (target === undefined) return void socket.destroy();
    const behind = connect(target);
    for (const each of [socket, behind]) {
      sockets.add(each);
      each
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(each);
          socket.destroy();
          behind.destroy();
        });
    }
    socket.pipe(behind).pipe(socket);
    return undefined;
  }).listen(port, 'localhost');
  await once(server, 'listening');
  return {
    origin: `http://localhost:${port}`,
    leadTo: (next) => {
      target = next;
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
};
