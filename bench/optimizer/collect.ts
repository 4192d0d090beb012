import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { TOOLS_FILE, toolsOfServers, type ToolsOfServer } from './labelled.ts';
import { type ListedServer, SERVERS } from './servers.ts';

/**
 * `node bench/optimizer/collect.ts` installs each server of `servers.ts` in a folder of its own, without its scripts,
 * asks it over stdio what tools it has, and writes `tools.json`; with `--only NAME` it replaces one server's part. The
 * servers get no environment of the user's, and where `unshare` is allowed no network beyond loopback.
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
  await run('npm', ['install', '--ignore-scripts', '--omit=dev', `${server.package}@${server.version}`], {
    cwd: folder,
  });
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
    const tools: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: TIMEOUT_MS });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return { server: server.name, package: server.package, version, license, tools: tools as ToolsOfServer['tools'] };
  } finally {
    await client.close();
  }
};

/** A client of OAuth that no provider knows; some servers look for the file before they start. */
const CREDENTIALS = JSON.stringify({
  installed: { client_id: 'none', client_secret: 'none', redirect_uris: ['http://localhost'] },
});

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
const isAsked = ({ name }: ListedServer): boolean => values.only?.includes(name) ?? true;

const listed = new Map(values.only ? toolsOfServers().map((each) => [each.server, each]) : []);
for (const server of SERVERS.filter(isAsked)) {
  const folder = await mkdtemp(join(tmpdir(), 'collect-'));
  try {
    const list = await listOf(server, folder);
    listed.set(server.name, list);
    console.log(`${list.server}: ${list.tools.length} tools`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A line for each tool, so that a new version of a server shows in a diff. */
const textOf = ({ tools, ...server }: ToolsOfServer): string => {
  const lines = tools.map((tool) => JSON.stringify(tool));
  return `${JSON.stringify(server).slice(0, -1)},"tools":[\n${lines.join(',\n')}\n]}`;
};
await writeFile(TOOLS_FILE, `[\n${[...listed.values()].map(textOf).join(',\n')}\n]\n`);
