import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { freePortPair } from '../fixtures/ports.ts';

export interface Peer {
  readonly url: string;
  readonly stop: () => Promise<void>;
  /** The revisions that requests have named so far; only of servers in this process. */
  readonly revisions?: ReadonlySet<string>;
}

/** The path of a program that a package brings. */
export const programOf = (file: string): string => fileURLToPath(import.meta.resolve(file));

/** Starts a server as a process of its own; resolves when it takes connections. */
export const startProcess = async (
  program: string,
  args: (port: number) => readonly string[],
  path = '/mcp',
  env: (port: number) => Record<string, string> = () => ({}),
): Promise<Peer> => {
  const port = await freePortPair();
  const child = spawn(process.execPath, [program, ...args(port)], {
    env: { ...process.env, ...env(port) },
    stdio: ['ignore', 'ignore', 'ignore'],
    // Its own group, so that the servers it starts end with it.
    detached: true,
  });
  await listening(port, child);
  return { url: `http://127.0.0.1:${port}${path}`, stop: () => endGroup(child) };
};

const endGroup = async (child: ChildProcess): Promise<void> => {
  if (child.pid === undefined || child.exitCode !== null) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await exited;
};

const listening = async (port: number, child: ChildProcess): Promise<void> => {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} has exited`);
    if (await takesConnections(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${child.spawnargs.join(' ')} does not listen`);
};

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** Serves what answers web-standard requests. */
export const serveFetch = async (respond: (request: Request) => Promise<Response | null>): Promise<Peer> => {
  const revisions = new Set<string>();
  const server = createServer((request, response) => {
    revisions.add(String(request.headers['mcp-protocol-version'] ?? ''));
    void relay(respond, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, stop: () => stopServer(server), revisions };
};

const stopServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

const relay = async (
  respond: (request: Request) => Promise<Response | null>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = 'GET', headers, url = '/' } = request;
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const answer = await respond(
    new Request(new URL(url, `http://${headers.host}`), {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      signal: gone.signal,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    }),
  );
  response.writeHead(answer?.status ?? 404, Object.fromEntries(answer?.headers ?? []));
  for await (const chunk of answer?.body ?? []) response.write(chunk);
  response.end();
};
