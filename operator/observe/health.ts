import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HealthChecks {
  /** The process is alive and not stuck. */
  readonly isHealthy: () => boolean;
  /** It has seen the whole cluster once and is not stopping. */
  readonly isReady: () => boolean;
}

/** What is measured, as text. */
export interface Exposition {
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Answers `GET /healthz`, `GET /readyz` and `GET /metrics`; anything else is 404. */
export const serveHealth = async (port: number, checks: HealthChecks, metrics: Exposition): Promise<HealthServer> => {
  const told = (isFine: boolean, otherwise: string): Answer =>
    isFine ? { status: 200, body: 'ok\n' } : { status: 503, body: otherwise };
  const routes = new Map<string, () => Answer | Promise<Answer>>([
    ['/healthz', () => told(checks.isHealthy(), 'not healthy\n')],
    ['/readyz', () => told(checks.isReady(), 'not ready\n')],
    ['/metrics', async () => ({ status: 200, body: await metrics.text(), type: metrics.contentType })],
  ]);
  const server = createServer((request, response) => {
    const route = routes.get((request.url ?? '').split('?', 1)[0] ?? '');
    void answer(route, response);
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

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

const answer = async (route: (() => Answer | Promise<Answer>) | undefined, response: ServerResponse): Promise<void> => {
  const { status, body, type = 'text/plain; charset=utf-8' } = await answerOf(route);
  response.writeHead(status, { 'content-type': type });
  response.end(body);
};

const answerOf = async (route: (() => Answer | Promise<Answer>) | undefined): Promise<Answer> => {
  try {
    return route === undefined ? { status: 404, body: 'not found\n' } : await route();
  } catch {
    // A gauge that cannot be read is a bug of ours, and no reason to end the process.
    return { status: 500, body: 'internal error\n' };
  }
};
