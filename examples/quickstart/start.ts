/**
 * The README's first command: two real MCP servers of other vendors, and one vmcp endpoint in front of them, made by
 * `vmcp-operator local` from the manifests of this directory (`--dir` for another with the same backends). `--once` ends after
 * the sample call.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { parseAllDocuments } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** A port that is free now; the server takes it a moment later. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

/** The demo servers hand their environment to whoever asks (`get-env`), so they get none of the user's. */
const demoEnvironment = { PATH: process.env['PATH'], HOME: process.env['HOME'] };

const startEverything = async (children: Children): Promise<string> => {
  const port = await freePort();
  const program = join('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
  children.start('everything', [program, 'streamableHttp'], { env: { ...demoEnvironment, PORT: String(port) } });
  return `http://localhost:${port}/mcp`;
};

const startPlaywright = async (children: Children): Promise<string> => {
  const port = await freePort();
  const program = join('node_modules', '@playwright', 'mcp', 'cli.js');
  children.start('playwright', [program, '--headless', '--port', String(port)], { env: demoEnvironment });
  return `http://localhost:${port}/mcp`;
};

/** Three processes that live and die together. */
class Children {
  readonly #running = new Set<ChildProcess>();
  readonly #onLoss: (message: string) => void;
  #isStopping = false;

  /** `onLoss` is told when one ends although nobody asked it to. */
  constructor(onLoss: (message: string) => void) {
    this.#onLoss = onLoss;
  }

  /** With `isShown` every line of its output is passed on; otherwise only its last words, should it end. */
  start(
    label: string,
    args: readonly string[],
    options: { readonly env: NodeJS.ProcessEnv; readonly isShown?: boolean },
  ): void {
    const child = spawn(process.execPath, args, { cwd: root, env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#running.add(child);
    const lines: string[] = [];
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        if (options.isShown === true) say(`  │ ${line}`);
        else lines.splice(0, lines.length - 4, line);
      });
    }
    child.once('close', (code, signal) => {
      this.#running.delete(child);
      if (!this.#isStopping) this.#onLoss([`${label} has ended (${signal ?? `code ${code}`})`, ...lines].join('\n  '));
    });
  }

  stop(): void {
    this.#isStopping = true;
    for (const child of this.#running) child.kill();
  }
}

/** Asks until there is an answer, nobody is waiting any more, or a minute is over. */
const until = async <T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await setTimeout(100, undefined, { signal });
    }
  }
};

/** The URL of the server, once its status says that it is Ready. */
const readyUrl = async (statusFile: string): Promise<string> => {
  const documents = parseAllDocuments(await readFile(statusFile, 'utf8')).map(
    (each) => each.toJS() as StatusDocument | null,
  );
  const server = documents.find((document) => document?.kind === 'VirtualMCPServer')?.status;
  if (server?.phase !== 'Ready' || server.url === undefined)
    throw new Error(`not ready: ${server?.message ?? 'no status yet'}`);
  return server.url;
};

interface StatusDocument {
  readonly kind: string;
  readonly status?: { readonly phase?: string; readonly url?: string; readonly message?: string };
}

const snippets = (url: string): string => `Paste into your client:

  Claude Code   claude mcp add --transport http vmcp ${url}
  VS Code       .vscode/mcp.json    { "servers": { "vmcp": { "type": "http", "url": "${url}" } } }
  Cursor        .cursor/mcp.json    { "mcpServers": { "vmcp": { "url": "${url}" } } }
  Inspector     npx @modelcontextprotocol/inspector --cli ${url} --transport http --method tools/list`;

const show = async (url: string): Promise<void> => {
  const client = new Client({ name: 'quickstart', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  say(`\nOne endpoint: ${url}\n\n${tools.length} tools of two servers:`);
  for (const tool of tools)
    say(`  ${tool.name.padEnd(44)} ${(tool.description ?? '').split('\n')[0]?.slice(0, 70) ?? ''}`);
  const sample = { name: 'everything_echo', arguments: { message: 'hello through vmcp' } };
  const answer = await client.callTool(sample);
  say(`\ntools/call ${JSON.stringify(sample)}\n  → ${JSON.stringify(answer.content)}\n\n${snippets(url)}`);
  await client.close();
};

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: { once: { type: 'boolean', default: false }, dir: { type: 'string', default: 'examples/quickstart' } },
  });
  const ended = new AbortController();
  const children = new Children((message) => {
    say(`\n${message}`);
    end(1);
  });
  const end = (code: number): void => {
    process.exitCode = code;
    ended.abort();
    children.stop();
  };
  // Nobody reads any more (`npm start | head`).
  process.stdout.on('error', () => end(0));
  process.once('SIGINT', () => end(0)).once('SIGTERM', () => end(0));

  const statusFile = resolve(root, values.dir, '.vmcp', 'status.yaml');
  await rm(statusFile, { force: true });
  say('Starting two MCP servers from npm: @modelcontextprotocol/server-everything and @playwright/mcp …');
  const [everything, playwright] = [await startEverything(children), await startPlaywright(children)];
  const args = ['local', values.dir, '--backend', `everything=${everything}`, '--backend', `playwright=${playwright}`];
  say(`Starting vmcp:\n  node operator/main.ts ${args.join(' ')}`);
  children.start('vmcp', [join('operator', 'main.ts'), ...args], { env: process.env, isShown: true });
  try {
    await show(await until(() => readyUrl(statusFile), ended.signal));
  } catch (error) {
    if (ended.signal.aborted) return;
    say(`\n${error instanceof Error ? error.message : String(error)}`);
    return end(1);
  }
  if (values.once) return end(0);
  say(`\nRunning. A change of ${join(values.dir, 'quickstart.yaml')} takes effect at once; Ctrl-C ends it.`);
};

await main();
