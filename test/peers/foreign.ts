import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ensureMade, type Toolchain } from './toolchains.ts';

/**
 * How a server of another language is served. Each SDK says in its own words whether it answers in JSON, keeps
 * sessions, or speaks HTTP+SSE.
 */
export const WAYS = ['sse answers', 'json answers', 'stateless', 'HTTP+SSE'] as const;
export type Way = (typeof WAYS)[number];
export type ClientTransport = 'Streamable HTTP' | 'HTTP+SSE';
/**
 * `legacy`: the client offers 2025-11-25 at most. `auto`: what the SDK negotiates by itself, 2026-07-28 where it can.
 */
export type ClientEra = 'legacy' | 'auto';

export interface Stack {
  readonly toolchain: Toolchain;
  readonly client: readonly string[];
  readonly server: readonly string[];
  /** A client that signs in by itself. */
  readonly signIn?: readonly string[];
  /** A client over a transport for which the SDK has no way to sign in. */
  readonly byHand?: readonly string[];
  readonly eras: readonly ClientEra[];
  readonly transports: readonly ClientTransport[];
}

const python = (set: 'v1' | 'v2', client: string, server: string, eras: readonly ClientEra[]): Stack => ({
  toolchain: `python-${set}`,
  client: ['bin/python', join(import.meta.dirname, 'python', client)],
  server: ['bin/python', join(import.meta.dirname, 'python', server)],
  eras,
  transports: ['Streamable HTTP', 'HTTP+SSE'],
});

/** By the names of `docs/compatibility.md`. */
export const stacks = {
  'mcp 1.30': python('v1', 'client_mcp1.py', 'server_mcp1.py', ['legacy']),
  'mcp 2.3': {
    ...python('v2', 'client_mcp2.py', 'server_mcp2.py', ['legacy', 'auto']),
    signIn: ['bin/python', join(import.meta.dirname, 'python', 'sign_in_mcp2.py')],
  },
  'fastmcp 3.4': python('v1', 'client_fastmcp.py', 'server_fastmcp.py', ['legacy']),
  'fastmcp 4.1': python('v2', 'client_fastmcp.py', 'server_fastmcp.py', ['legacy', 'auto']),
  'Go SDK 1.8': {
    toolchain: 'go',
    client: ['peer', 'client'],
    server: ['peer', 'server'],
    signIn: ['peer', 'sign-in'],
    byHand: ['peer', 'by-hand'],
    eras: ['legacy', 'auto'],
    transports: ['Streamable HTTP', 'HTTP+SSE'],
  },
  'rmcp 3.9': {
    toolchain: 'rust',
    client: ['peer', 'client'],
    server: ['peer', 'server'],
    signIn: ['peer', 'sign-in'],
    eras: ['legacy', 'auto'],
    transports: ['Streamable HTTP'],
  },
} as const satisfies Record<string, Stack>;

export type StackName = keyof typeof stacks;
export const STACKS = Object.keys(stacks) as StackName[];

/**
 * What one capability came to: `ok` with what was seen, `error` with the JSON-RPC error, or `failed` with what the SDK
 * said.
 */
export interface Outcome {
  readonly ok?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly failed?: string;
}

/** Outcomes by capability, and `revision`, the revision that was agreed on. */
export type Seen = Readonly<Record<string, Outcome>> & { readonly revision?: unknown };

export interface Order {
  readonly url: string;
  readonly transport: ClientTransport;
  readonly era: ClientEra;
  /** How long the client waits for what may never come: a notification, a question, the end of a cancelled call. */
  readonly patienceS: number;
  /** The capabilities to try. */
  readonly only: readonly string[];
}

interface Conversation {
  readonly say: (line: string) => void;
  readonly nextLine: () => Promise<string>;
  readonly stop: () => Promise<void>;
  readonly ended: () => Promise<void>;
}

/** Why the stack cannot be tried here, or undefined. */
export const missing = async (name: StackName): Promise<string | undefined> => {
  const made = await ensureMade(stacks[name].toolchain, (line) => void process.stderr.write(`${line}\n`));
  return made.ok ? undefined : made.why;
};

type Role = 'client' | 'server' | 'signIn' | 'byHand';

const converse = async (name: StackName, role: Role): Promise<Conversation> => {
  const stack: Stack = stacks[name];
  const made = await ensureMade(stack.toolchain, () => undefined);
  if (!made.ok) throw new Error(made.why);
  const [program, ...args] = stack[role] ?? [];
  if (program === undefined) throw new Error(`no ${role} of ${name}`);
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
  const stderr = role === 'signIn' || role === 'byHand' ? 'inherit' : 'ignore';
  const child = spawn(join(made.folder, program), args, { stdio: ['pipe', 'pipe', stderr], env });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    say: (line) => void child.stdin.write(`${line}\n`),
    nextLine: async () => {
      const { done, value } = await lines.next();
      if (done === true) throw new Error(`the ${role} of ${name} has ended`);
      return value;
    },
    stop: () => end(child),
    ended: () => ended(child),
  };
};

export const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
};

const end = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGKILL');
  await ended(child);
};

export interface ForeignServer {
  readonly urls: Readonly<Partial<Record<Way, string>>>;
  readonly stop: () => Promise<void>;
}

/** Starts a server of the stack, in every way that the SDK can serve it. */
export const startForeignServer = async (name: StackName): Promise<ForeignServer> => {
  const { nextLine, stop } = await converse(name, 'server');
  return { urls: JSON.parse(await nextLine()) as ForeignServer['urls'], stop };
};

export interface ForeignClient {
  /** Connects, tries every capability and then connects once more; one order at a time. */
  readonly carryOut: (order: Order) => Promise<Seen>;
  readonly stop: () => Promise<void>;
}

export const startForeignClient = async (name: StackName): Promise<ForeignClient> => {
  const { say, nextLine, stop } = await converse(name, 'client');
  return {
    carryOut: async (order) => {
      say(JSON.stringify(order));
      return JSON.parse(await nextLine()) as Seen;
    },
    stop,
  };
};

export interface ForeignLogin {
  /** Says these lines and hears one. */
  readonly ask: (...lines: readonly string[]) => Promise<string>;
  /** Ends its session, where it has one. */
  readonly leave: () => Promise<void>;
}

/**
 * A program that calls tools at a protected server: lines are names of tools to call, or `list`.
 *
 * `signIn`: its first three lines are the address of the server, the one where a browser comes back to, and the era.
 * Where it says an address, the next line is the one where the browser ended up.
 *
 * `byHand`: its first line is the address of the server; after the word `token` a line has one, with which it connects
 * anew.
 */
export const startForeignLogin = async (name: StackName, role: 'signIn' | 'byHand'): Promise<ForeignLogin> => {
  const { say, nextLine, ended: hasEnded } = await converse(name, role);
  return {
    ask: async (...lines) => {
      for (const line of lines) say(line);
      return nextLine();
    },
    leave: async () => {
      say('');
      await hasEnded();
    },
  };
};
