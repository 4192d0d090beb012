import { access } from 'node:fs/promises';
import { isThere } from '../command.ts';
import { cgroupObstacle } from './cgroups.ts';

export type NodeSupport = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** What Debian calls the programs that the node takes from the host, and how to ask for each. */
const HOST_PROGRAMS = [
  { program: 'runc', args: ['--version'], package: 'runc' },
  { program: 'iptables', args: ['--version'], package: 'iptables' },
  { program: 'ip', args: ['-V'], package: 'iproute2' },
  { program: 'unshare', args: ['--version'], package: 'util-linux' },
  { program: 'nsenter', args: ['--version'], package: 'util-linux' },
] as const;

/** Where distributions put the CNI plugins. */
const CNI_FOLDERS = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];

/**
 * Whether this machine can run the one-node cluster, and by name what is missing. On a developer's machine a test may
 * skip itself with that reason; in CI (`CI=true`) it must not, because a tier that never runs proves nothing.
 */
export async function nodeSupport(): Promise<NodeSupport> {
  const why = await obstacle();
  if (why === undefined) return { ok: true };
  if (process.env['CI'] === 'true') throw new Error(`the one-node cluster must run in CI, but ${why}`);
  return { ok: false, why };
}

/** For the `skip` option of a test: false, or the reason. */
export async function skipWithoutNode(): Promise<false | string> {
  const support = await nodeSupport();
  return support.ok ? false : `no one-node cluster here: ${support.why}`;
}

async function obstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `a node needs Linux and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a node needs root';
  for (const { program, args, package: name } of HOST_PROGRAMS) {
    if (!(await isThere(program, args))) return `${program} is missing (Debian package ${name})`;
  }
  if ((await cniFolder()) === undefined)
    return `the CNI plugins are in none of ${CNI_FOLDERS.join(', ')} (Debian package containernetworking-plugins)`;
  if (!(await exists('/proc/sys/net/bridge')) && !(await isThere('modprobe', ['br_netfilter'])))
    return 'the kernel module br_netfilter is missing';
  return cgroupObstacle();
}

export async function cniFolder(): Promise<string | undefined> {
  for (const folder of CNI_FOLDERS) if (await exists(`${folder}/bridge`)) return folder;
  return undefined;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
