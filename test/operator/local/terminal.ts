import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { runLocal } from '../../../operator/local.ts';
import { freePortPair } from '../../fixtures/ports.ts';

/** `vmcp-operator local` over a directory of its own, as a user at a terminal sees it. */
export interface Terminal {
  readonly directory: string;
  readonly url: string;
  readonly write: (name: string, text: string) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  /** Resolves once what was printed since the last call matches, and returns it. */
  readonly sees: (pattern: RegExp) => Promise<string>;
  /** Status of the server `demo` in `.vmcp/status.yaml`. */
  readonly status: () => Promise<Readonly<Record<string, unknown>>>;
  readonly fileMode: (name: string) => Promise<number>;
  /** Ctrl-C; the exit code. */
  readonly interrupt: () => Promise<number>;
  /** The exit code of one that ends by itself. */
  readonly ended: Promise<number>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export const startLocal = async (
  files: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Terminal> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-local-'));
  const port = await freePortPair();
  const all = { 'local.yaml': `ports: { demo: ${port} }\n`, ...files };
  for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text);
  const printed = printedText();
  const stopping = new AbortController();
  const deps = { env, stdout: printed.add, stderr: printed.add, signal: stopping.signal };
  const ended = runLocal([directory, ...args], deps);
  const interrupt = (): Promise<number> => {
    stopping.abort();
    return ended;
  };
  return {
    directory,
    url: `http://127.0.0.1:${port}/mcp`,
    write: (name, text) => writeFile(join(directory, name), text),
    remove: (name) => rm(join(directory, name)),
    sees: printed.sees,
    status: async () => serverStatus(await readFile(join(directory, '.vmcp', 'status.yaml'), 'utf8')),
    fileMode: async (name) => (await stat(name)).mode & 0o777,
    interrupt,
    ended,
    [Symbol.asyncDispose]: async () => {
      await interrupt();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

const printedText = () => {
  let unread = '';
  let notify = (): void => {};
  return {
    add: (text: string): void => {
      unread += text;
      notify();
    },
    sees: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        const giveUp = setTimeout(() => reject(new Error(`${pattern} was not printed, but:\n${unread}`)), 20_000);
        notify = () => {
          if (!pattern.test(unread)) return;
          clearTimeout(giveUp);
          const text = unread;
          unread = '';
          // What is printed from now on is for the next call, also what matches this one.
          notify = () => {};
          resolve(text);
        };
        notify();
      }),
  };
};

interface Reported {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly status: Readonly<Record<string, unknown>>;
}

const serverStatus = (text: string): Readonly<Record<string, unknown>> => {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as Reported);
  const server = documents.find(({ kind, metadata }) => kind === 'VirtualMCPServer' && metadata.name === 'demo');
  if (server === undefined) throw new Error(`no status of demo in:\n${text}`);
  return server.status;
};

/** Manifests of a server `demo`, its group, and entries by name. */
export const manifests = (entries: Readonly<Record<string, string>>, spec = ''): string =>
  [
    `apiVersion: vmcp.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: { name: demo }\nspec:\n  groupRef: { name: tools }\n  incomingAuth: { type: anonymous }\n${spec}`,
    'apiVersion: vmcp.dev/v1beta1\nkind: MCPGroup\nmetadata: { name: tools }\n',
    ...Object.entries(entries).map(([name, url]) => entryManifest(name, url)),
  ].join('---\n');

export const entryManifest = (name: string, url: string): string =>
  `apiVersion: vmcp.dev/v1beta1\nkind: MCPServerEntry\nmetadata: { name: ${name} }\nspec:\n  groupRef: { name: tools }\n  remoteUrl: ${url}\n  transport: streamable-http\n`;
