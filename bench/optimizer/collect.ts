import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { TOOLS_FILE, type ToolsOfServer } from './labelled.ts';
import { type ListedServer, SERVERS } from './servers.ts';

/**
 * `node bench/optimizer/collect.ts` installs each server of `servers.ts` in a folder of its own, without its scripts,
 * asks it over stdio what tools it has, and writes `tools.json`. The servers get no environment of the user's, and where
 * `unshare` is allowed no network beyond loopback.
 */

const run = promisify(execFile);
const TIMEOUT_MS = 120_000;

interface Manifest {
  readonly version: string;
  readonly license?: string;
  readonly bin?: string | Readonly<Record<string, string>>;
}

const canUnshare = await run('unshare', ['-n', 'true']).then(
  () => true,
  () => false,
);

const listOf = async (server: ListedServer, folder: string): Promise<ToolsOfServer> => {
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--ignore-scripts', '--omit=dev', `${server.package}@${server.version}`], { cwd: folder });
  const root = join(folder, 'node_modules', server.package);
  const { version, license = 'none', bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  const [program] = typeof bin === 'string' ? [bin] : Object.values(bin ?? {});
  if (program === undefined) throw new Error(`${server.package} has no program`);
  await writeFile(join(folder, 'credentials.json'), CREDENTIALS);
  const command = [process.execPath, join(root, program), ...(server.args ?? [])];
  const [first = '', ...args] = canUnshare
    ? ['unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh', ...command]
    : command;
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ...server.env };
  const client = new Client({ name: 'collect', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: first, args, cwd: folder, env, stderr: 'ignore' }), {
    timeout: TIMEOUT_MS,
  });
  try {
    const { tools } = await client.listTools({}, { timeout: TIMEOUT_MS });
    return { server: server.name, package: server.package, version, license, tools };
  } finally {
    await client.close();
  }
};

/** A client of OAuth that no provider knows; some servers look for the file before they start. */
const CREDENTIALS = JSON.stringify({
  installed: { client_id: 'none', client_secret: 'none', redirect_uris: ['http://localhost'] },
});

const found: ToolsOfServer[] = [];
for (const server of SERVERS) {
  const folder = await mkdtemp(join(tmpdir(), 'collect-'));
  try {
    const list = await listOf(server, folder);
    found.push(list);
    console.log(`${list.server}: ${list.tools.length} tools`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
const lines = found.map(({ tools, ...server }) => {
  const head = JSON.stringify(server).slice(0, -1);
  return `${head},"tools":[\n${tools.map((tool) => JSON.stringify(tool)).join(',\n')}\n]}`;
});
await writeFile(TOOLS_FILE, `[\n${lines.join(',\n')}\n]\n`);
