import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { Multiplexer, serveBridge } from '../../../operator/bridge/index.ts';
import type { Clock } from '../../../runtime/process/clock.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';

export interface Logged {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface BridgeUnderTest {
  readonly url: string;
  readonly origin: string;
  readonly multiplexer: Multiplexer;
  readonly logged: readonly Logged[];
  /** A client of the SDK with a session of its own. */
  readonly connect: (capabilities?: ClientCapabilities, prepare?: (client: Client) => void) => Promise<Client>;
  readonly close: () => Promise<void>;
}

/** A bridge on a real socket, with no server attached yet. */
export const startBridge = async (clock: Clock = systemClock): Promise<BridgeUnderTest> => {
  const logged: Logged[] = [];
  const logAs =
    (level: string) =>
    (fields: object, message: string): void =>
      void logged.push({ level, message, fields: fields as Logged['fields'] });
  const log = { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') };
  const multiplexer = new Multiplexer({
    clock,
    log,
    newSessionId: randomUUID,
    version: '0.0.0',
    onFailure: (error) => logAs('failure')({ code: error.code, cause: error.cause }, error.message),
  });
  const { origin, stop } = await serveBridge(
    multiplexer,
    { host: '127.0.0.1', port: 0, allowedHosts: [] },
    {
      clock: systemClock,
      newCorrelationId: randomUUID,
      onFailure: () => {},
      onCut: () => {},
      detach: () => Promise.resolve(),
    },
    { servingMs: 0, callsMs: 0, farewellMs: 1_000 },
  );
  const clients: Client[] = [];
  const url = `${origin}/mcp`;
  const connect: BridgeUnderTest['connect'] = async (capabilities = {}, prepare = () => {}) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities });
    prepare(client);
    clients.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  };
  const close = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()));
    await stop();
  };
  return { url, origin, multiplexer, logged, connect, close };
};

/** Attaches a program as the API server would attach a container: a new run of it has begun. */
export const attachProgram = (
  { multiplexer }: Pick<BridgeUnderTest, 'multiplexer'>,
  ...args: readonly string[]
): { readonly child: ChildProcess; readonly kill: () => Promise<void> } => {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdout.on('data', (chunk: Buffer) => multiplexer.output(chunk));
  child.stdin.on('error', () => {});
  multiplexer.began({ send: (message) => child.stdin.write(Buffer.concat([message, Buffer.from('\n')])) || true });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    multiplexer.ended();
  };
  return { child, kill };
};

export interface Said {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface ScriptedServer {
  /** What the bridge has sent, `initialize` and `notifications/initialized` included. */
  readonly heard: readonly Said[];
  readonly lines: readonly string[];
  /** Resolves with the first message (past or future) that matches. */
  readonly hears: (matches: (said: Said) => boolean) => Promise<Said>;
  readonly says: (...messages: readonly (object | string)[]) => void;
  readonly link: { readonly send: (message: Buffer) => boolean };
}

/** A server that says exactly what a test wants, after its handshake. */
export const attachScript = (
  { multiplexer }: Pick<BridgeUnderTest, 'multiplexer'>,
  greeting: object | 'silent' = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: SERVER_INFO },
): ScriptedServer => {
  const heard: Said[] = [];
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const says: ScriptedServer['says'] = (...messages) => {
    for (const message of messages)
      multiplexer.output(Buffer.from(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`));
  };
  const send = (bytes: Buffer): boolean => {
    const line = bytes.toString();
    lines.push(line);
    if (line === '') return true;
    const said = JSON.parse(line) as Said;
    heard.push(said);
    if (said.method === 'initialize' && greeting !== 'silent')
      queueMicrotask(() => says({ jsonrpc: '2.0', id: said.id, result: greeting }));
    for (const look of waiting) look();
    return true;
  };
  const hears: ScriptedServer['hears'] = (matches) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = heard.find(matches);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const link = { send };
  multiplexer.began(link);
  return { heard, lines, hears, says, link };
};

export const SERVER_INFO = { name: 'scripted', version: '1' };
