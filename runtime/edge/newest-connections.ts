import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps at most `limit` connections open: one more closes the oldest. For servers whose answers take no time, so that
 * the oldest are idle.
 */
export const keepNewestConnections = (server: Server, limit: number): void => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    if (open.size <= limit) return;
    for (const oldest of open) {
      open.delete(oldest);
      oldest.destroy();
      return;
    }
  });
};
