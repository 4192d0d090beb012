import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, type CommandOptions } from '../command.ts';
import type { Crew } from '../daemon.ts';
import { until } from '../until.ts';
import type { Addresses } from './addresses.ts';

/**
 * The node's own mounts, network, process ids, host name and IPC. The first process of it is a pause program; when that
 * one ends, the kernel ends everything else inside and drops mounts, links and firewall rules: there is nothing to
 * clean up.
 */
export interface Namespaces {
  /** The command line that runs a program inside. */
  readonly inside: (
    program: string,
    args: readonly string[],
  ) => { readonly program: string; readonly args: readonly string[] };
  readonly run: (program: string, args: readonly string[], options?: CommandOptions) => Promise<string>;
}

export interface NamespacesOptions {
  readonly folder: string;
  /** Path of the program. */
  readonly pause: string;
  readonly addresses: Addresses;
}

export async function makeNamespaces(crew: Crew, { folder, pause, addresses }: NamespacesOptions): Promise<Namespaces> {
  const first = await crew.start({
    name: 'namespaces',
    program: 'unshare',
    args: ['--mount', '--net', '--pid', '--uts', '--ipc', '--fork', '--kill-child', pause],
    logFile: join(folder, 'namespaces.log'),
  });
  const pid = await until('the namespaces', () => onlyChild(first.pid), { timeoutMs: 10_000, intervalMs: 5 });
  const inside: Namespaces['inside'] = (program, args) => ({
    program: 'nsenter',
    args: ['--target', pid, '--mount', '--net', '--pid', '--uts', '--ipc', program, ...args],
  });
  const runInside: Namespaces['run'] = (program, args, options) => {
    const command = inside(program, args);
    return run(command.program, command.args, options);
  };
  await plugCable(pid, addresses);
  const { node, serviceRange, host } = addresses;
  await runInside('sh', [join(import.meta.dirname, 'prepare.sh'), folder, node, serviceRange, host]);
  return { inside, run: runInside };
}

async function onlyChild(pid: number): Promise<string | undefined> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
  return children === '' ? undefined : children;
}

/** A virtual cable from the host to the node, with routes to its pods and Services. */
async function plugCable(pid: string, { link, host, node, podRange, serviceRange }: Addresses): Promise<void> {
  await unplugCable(link);
  await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid]);
  await run('ip', ['address', 'add', `${host}/30`, 'dev', link]);
  await run('ip', ['link', 'set', link, 'up']);
  for (const range of [podRange, serviceRange]) await run('ip', ['route', 'add', range, 'via', node, 'dev', link]);
}

/** The kernel takes the cable away together with the node's network, only a moment later. */
export const unplugCable = async (link: string): Promise<void> =>
  void (await run('ip', ['link', 'delete', link]).catch(() => undefined));
