/**
 * The README's first command: two real MCP servers of other vendors, and one vmcp endpoint in front of them, made by
 * `vmcp-operator local` from the manifests of this directory (`--dir` for another with the same backends). `--once` ends after
 * the sample call.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { parseAllDocuments } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface RunningServer {
  readonly url: string;
  readonly process: ChildProcess;
}

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

const run = (label: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess => {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lastWords: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => lastWords.splice(0, lastWords.length - 4, text));
  }
  child.once('exit', (code) => {
    if (code !== null && code !== 0) say(`${label} ended with code ${code}:\n${lastWords.join('')}`);
  });
  return child;
};

const startEverything = async (): Promise<RunningServer> => {
  const port = await freePort();
  const program = join('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
  return {
    url: `http://localhost:${port}/mcp`,
    process: run('everything', [program, 'streamableHttp'], { PORT: String(port) }),
  };
};

const startPlaywright = async (): Promise<RunningServer> => {
  const port = await freePort();
  const program = join('node_modules', '@playwright', 'mcp', 'cli.js');
  return {
    url: `http://localhost:${port}/mcp`,
    process: run('playwright', [program, '--headless', '--port', String(port)]),
  };
};

/** Asks until there is an answer; gives up after a minute with the last reason. */
const until = async <T>(ask: () => Promise<T>): Promise<T> => {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
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
  const statusFile = resolve(root, values.dir, '.vmcp', 'status.yaml');
  await rm(statusFile, { force: true });
  say('Starting two MCP servers from npm: @modelcontextprotocol/server-everything and @playwright/mcp …');
  const everything = await startEverything();
  const playwright = await startPlaywright();
  const mapping = ['--backend', `everything=${everything.url}`, '--backend', `playwright=${playwright.url}`];
  say(`Starting vmcp:\n  vmcp-operator local ${values.dir} ${mapping.join(' ')}`);
  const operator = run('vmcp-operator', [join('operator', 'main.ts'), 'local', values.dir, ...mapping]);
  const stopAll = (): void => {
    for (const child of [operator, everything.process, playwright.process]) child.kill();
  };
  process.once('SIGINT', stopAll).once('SIGTERM', stopAll);
  try {
    await show(await until(() => readyUrl(statusFile)));
  } catch (error) {
    stopAll();
    throw error;
  }
  if (values.once) stopAll();
  else say(`\nRunning. A change of ${join(values.dir, 'quickstart.yaml')} takes effect at once; Ctrl-C ends it.`);
};

await main();
