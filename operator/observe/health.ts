import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HealthChecks {
  /** The process is alive and not stuck. */
  readonly isHealthy: () => boolean;
  /** It has seen the whole cluster once and is not stopping. */
  readonly isReady: () => boolean;
}

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Answers `GET /healthz` and `GET /readyz`; anything else is 404. */
export const serveHealth = async (port: number, checks: HealthChecks): Promise<HealthServer> => {
  const routes = new Map([
    ['/healthz', checks.isHealthy],
    ['/readyz', checks.isReady],
  ]);
  const server = createServer((request, response) => {
    const isFine = routes.get((request.url ?? '').split('?', 1)[0] ?? '');
    const status = isFine === undefined ? 404 : isFine() ? 200 : 503;
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(status === 200 ? 'ok\n' : status === 404 ? 'not found\n' : 'not ready\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
