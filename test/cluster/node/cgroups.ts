import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
const V1_NEEDED = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'devices'];
const V2_NEEDED = ['cpu', 'cpuset', 'memory', 'pids'];

/** v2 is one tree for all controllers; v1 (and the hybrid of both) has one tree per controller. */
export type CgroupKind = 'v1' | 'v2';

export const cgroupKind = async (): Promise<CgroupKind> =>
  (await exists(join(ROOT, 'cgroup.controllers'))) ? 'v2' : 'v1';

/** Why the kubelet cannot work with the cgroups of this host; undefined when it can. */
export async function cgroupObstacle(): Promise<string | undefined> {
  const v2 = (await cgroupKind()) === 'v2';
  const there = v2 ? await words(join(ROOT, 'cgroup.controllers')) : await readdir(ROOT).catch(() => []);
  const missing = (v2 ? V2_NEEDED : V1_NEEDED).filter((name) => !there.includes(name));
  return missing.length === 0
    ? undefined
    : `the cgroup controllers ${missing.join(', ')} are not available (cgroup ${v2 ? 'v2' : 'v1'} in ${ROOT})`;
}

/** Makes the group that the kubelet is told to stay in; it refuses one that does not exist. */
export async function makeCgroup(name: string): Promise<void> {
  await removeCgroup(name);
  if ((await cgroupKind()) === 'v2') return makeV2(name);
  for (const hierarchy of await v1Hierarchies()) await mkdir(join(hierarchy, name));
  // A new cpuset is empty, and no process can enter an empty one.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    await writeFile(join(ROOT, 'cpuset', name, file), await readFile(join(ROOT, 'cpuset', file)));
  }
}

/** A controller works in a group only when its parent hands it down. */
async function makeV2(name: string): Promise<void> {
  await handDown(ROOT);
  await mkdir(join(ROOT, name));
  await handDown(join(ROOT, name));
}

async function handDown(group: string): Promise<void> {
  const active = await words(join(group, 'cgroup.subtree_control'));
  const wanted = (await words(join(group, 'cgroup.controllers'))).filter((name) => !active.includes(name));
  if (wanted.length > 0)
    await writeFile(join(group, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '));
}

/** Removes what the node left; the kernel refuses while a process is inside, and so never more than that. */
export async function removeCgroup(name: string): Promise<void> {
  const hierarchies = (await cgroupKind()) === 'v2' ? [ROOT] : await v1Hierarchies();
  for (const hierarchy of hierarchies) await removeTree(join(hierarchy, name));
}

async function removeTree(group: string): Promise<void> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return;
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(group, entry.name));
  await rmdir(group);
}

const v1Hierarchies = async (): Promise<string[]> =>
  (await readdir(ROOT, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(ROOT, entry.name));

const words = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8')).split(/\s+/).filter((word) => word !== '');

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
