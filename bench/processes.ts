import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { builtProgram } from '../test/images/bundle.ts';
import type { Load } from './load.ts';
import type { Seen } from './loader-process.ts';
import { imageSettings } from '../test/images/image-settings.ts';

export interface Started {
  readonly url: string;
  readonly pid: number;
  readonly end: () => void;
}

export interface Loader {
  /** For so many milliseconds, or whatever else it counts by. */
  readonly run: (amount: number) => Promise<Seen>;
  readonly end: () => void;
}

/** How a gateway is started. */
export interface GatewayOptions {
  /**
   * Default: this source as the image has it. `source`: `runtime/main.ts`; a path: a build as an image has it. Both
   * with the image's flags for Node.
   */
  readonly program?: 'source' | { readonly file: string };
  /** Further members of its configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The processes of one run. */
export interface Processes {
  /** Starts a file of `bench/` that prints its port. */
  readonly role: (file: string, ...args: readonly string[]) => Promise<Started>;
  readonly backend: () => Promise<Started>;
  readonly byteProxy: (origin: string) => Promise<Started>;
  /** The gateway in front of backends by their names, or of one named `bench`. */
  readonly vmcp: (backends: string | Readonly<Record<string, string>>, options?: GatewayOptions) => Promise<Started>;
  /** Redis; `127.0.0.1:port`. */
  readonly redis: () => Promise<string>;
  /** Clients that are connected, warm and at rest. */
  readonly load: (load: Load) => Promise<Loader>;
  /** The same by another file of `bench/`, which gets `first` (`loader-process.ts`). */
  readonly loader: (file: string, first: object) => Promise<Loader>;
  readonly endAll: () => Promise<void>;
}

const here = (name: string): string => join(import.meta.dirname, name);

export const startProcesses = async (): Promise<Processes> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-bench-'));
  const { flags } = await imageSettings('Dockerfile.vmcp');
  const image = await builtProgram('runtime/main.ts');
  const children = new Set<ChildProcess>();
  const run = (args: readonly string[]) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.add(child);
    return { child, started: { pid: child.pid ?? 0, end: () => void child.kill('SIGKILL') } };
  };
  const role: Processes['role'] = async (file, ...args) => {
    const { child, started } = run([here(file), ...args]);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { ...started, url: `http://127.0.0.1:${line.toString().trim()}` };
  };
  const loader: Processes['loader'] = async (file, first) => {
    const child = fork(here(file), { stdio: 'inherit' });
    children.add(child);
    child.send(first);
    await heard(child);
    const run = async (amount: number): Promise<Seen> => {
      child.send(amount);
      return (await heard(child)) as Seen;
    };
    return { run, end: () => child.disconnect() };
  };
  let configs = 0;
  return {
    role,
    backend: () => role('backend.ts'),
    byteProxy: (origin) => role('byte-proxy.ts', origin),
    vmcp: async (backends, { program, config: more = {} } = {}) => {
      configs += 1;
      const config = join(directory, `config-${configs}.yaml`);
      const own = configOver(typeof backends === 'string' ? { bench: backends } : backends);
      await writeFile(config, JSON.stringify({ ...own, ...more }));
      const args = ['serve', '-c', config, '--port', '0', '--management-port', '0'];
      const { child, started } = run([...flags, fileOf(program) ?? image, ...args]);
      const url = await urlFrom(child.stdout);
      // A gateway whose log lines are not read would stop at a full pipe.
      child.stdout.resume();
      return { ...started, url };
    },
    redis: async () => {
      const port = await freePort();
      const child = spawn('redis-server', [
        '--port',
        `${port}`,
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--dir',
        directory,
      ]);
      children.add(child);
      for await (const line of createInterface(child.stdout)) if (line.includes('Ready to accept')) break;
      child.stdout.resume();
      return `127.0.0.1:${port}`;
    },
    load: (load) => loader('load.ts', load),
    loader,
    endAll: async () => {
      for (const child of children) child.kill('SIGKILL');
      await rm(directory, { recursive: true });
    },
  };
};

const fileOf = (program: GatewayOptions['program']): string | undefined =>
  program === 'source' ? here('../runtime/main.ts') : program?.file;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

const configOver = (backends: Readonly<Record<string, string>>) => ({
  incomingAuth: { type: 'anonymous' },
  backends: Object.entries(backends).map(([name, url]) => ({ name, url, transport: 'streamable-http' })),
});

const urlFrom = async (output: NodeJS.ReadableStream): Promise<string> => {
  for await (const line of createInterface(output)) {
    const { url } = JSON.parse(line) as { url?: string };
    if (url !== undefined) return url;
  }
  throw new Error('vmcp did not start');
};

/** The next message of a child; one that dies without it fails. */
const heard = async (child: ChildProcess): Promise<unknown> => {
  const done = new AbortController();
  const { signal } = done;
  const died = once(child, 'exit', { signal }).then(() => Promise.reject(new Error('the load generator has ended')));
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), died])) as [unknown];
    return message;
  } finally {
    done.abort();
    died.catch(() => {});
  }
};

/** User and system time of a process in microseconds; Linux counts in hundredths of a second. */
export const cpuMicrosOf = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

const statusLine = async (pid: number, name: string): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024;
};

/** Resident bytes: now, and at most so far. */
export const residentOf = (pid: number): Promise<number> => statusLine(pid, 'VmRSS');
export const peakResidentOf = (pid: number): Promise<number> => statusLine(pid, 'VmHWM');

/** Bytes at most so far, without pages of files. */
export const peakOwnOf = async (pid: number): Promise<number> =>
  (await peakResidentOf(pid)) - (await statusLine(pid, 'RssFile'));

export const requestsAt = async (backend: Started): Promise<number> =>
  Number(await (await fetch(`${backend.url}/count`)).text());
