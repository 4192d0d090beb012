import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bundleOf } from '../test/images/bundle.ts';
import type { Load, Seen } from './load.ts';
import { imageSettings } from './publish.ts';

export interface Started {
  readonly url: string;
  readonly pid: number;
  readonly end: () => void;
}

export interface Loader {
  readonly run: (milliseconds: number) => Promise<Seen>;
  readonly end: () => void;
}

/** The processes of one run. */
export interface Processes {
  readonly backend: () => Promise<Started>;
  readonly byteProxy: (origin: string) => Promise<Started>;
  /**
   * In front of backends by their names, or of one named `bench`; as the image has it, or from source with the image's
   * flags for Node.
   */
  readonly vmcp: (backends: string | Readonly<Record<string, string>>, how?: 'fromSource') => Promise<Started>;
  /** Clients that are connected, warm and at rest. */
  readonly load: (load: Load) => Promise<Loader>;
  readonly endAll: () => Promise<void>;
}

const here = (name: string): string => join(import.meta.dirname, name);

export const startProcesses = async (): Promise<Processes> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-bench-'));
  const { flags } = await imageSettings('Dockerfile.vmcp');
  const program = await imageProgram(directory);
  const children = new Set<ChildProcess>();
  const run = (args: readonly string[]) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.add(child);
    return { child, started: { pid: child.pid ?? 0, end: () => void child.kill('SIGKILL') } };
  };
  const role = async (...args: readonly string[]): Promise<Started> => {
    const { child, started } = run(args);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { ...started, url: `http://127.0.0.1:${line.toString().trim()}` };
  };
  let configs = 0;
  return {
    backend: () => role(here('backend.ts')),
    byteProxy: (origin) => role(here('byte-proxy.ts'), origin),
    vmcp: async (backends, how) => {
      configs += 1;
      const config = join(directory, `config-${configs}.yaml`);
      await writeFile(config, configOver(typeof backends === 'string' ? { bench: backends } : backends));
      const args = ['serve', '-c', config, '--port', '0', '--management-port', '0'];
      const { child, started } = run([...flags, how === 'fromSource' ? here('../runtime/main.ts') : program, ...args]);
      const url = await urlFrom(child.stdout);
      // A gateway whose log lines are not read would stop at a full pipe.
      child.stdout.resume();
      return { ...started, url };
    },
    load: async (load) => {
      const child = fork(here('load.ts'), [JSON.stringify(load)], { stdio: 'inherit' });
      children.add(child);
      await heard(child);
      const run = async (milliseconds: number): Promise<Seen> => {
        child.send(milliseconds);
        return (await heard(child)) as Seen;
      };
      return { run, end: () => child.disconnect() };
    },
    endAll: async () => {
      for (const child of children) child.kill('SIGKILL');
      await rm(directory, { recursive: true });
    },
  };
};

/** What the image runs: the gateway as one file. */
const imageProgram = async (directory: string): Promise<string> => {
  const [file] = (await bundleOf('runtime/main.ts')).outputFiles;
  const path = join(directory, 'vmcp.mjs');
  await writeFile(path, file?.contents ?? '');
  return path;
};

const configOver = (backends: Readonly<Record<string, string>>): string =>
  JSON.stringify({
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
