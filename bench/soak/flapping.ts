import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Flapping {
  readonly url: string;
  readonly end: () => void;
}

const UP_MS = 8_000;
const DOWN_MS = 4_000;

/**
 * The server at `url`, by a way that breaks every connection after 8 s and lets none through for 4 s, again and again.
 */
export const startFlapping = async (url: string): Promise<Flapping> => {
  const { hostname, port, pathname } = new URL(url);
  const sockets = new Set<Socket>();
  let isUp = true;
  const server = createServer((client) => {
    if (!isUp) {
      client.destroy();
      return;
    }
    const backend = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  let timer: NodeJS.Timeout;
  const turn = (): void => {
    timer = setTimeout(
      () => {
        isUp = !isUp;
        for (const socket of sockets) socket.destroy();
        turn();
      },
      isUp ? UP_MS : DOWN_MS,
    );
  };
  turn();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    end: () => {
      clearTimeout(timer);
      server.close();
    },
  };
};
