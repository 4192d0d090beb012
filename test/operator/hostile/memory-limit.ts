import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupKind } from '../../cluster/node/cgroups.ts';

const ROOT = '/sys/fs/cgroup';

/**
 * As the kubelet limits a container: the kernel kills the process that takes more. Where this machine gives no such
 * right, nothing limits it.
 */
export const limitMemory = async (pid: number, mib: number): Promise<() => Promise<void>> => {
  const isV2 = (await cgroupKind()) === 'v2';
  const group = join(ROOT, isV2 ? '' : 'memory', `vmcp-trial-${pid}`);
  try {
    if (isV2) await writeFile(join(ROOT, 'cgroup.subtree_control'), '+memory');
    await mkdir(group);
    await writeFile(join(group, isV2 ? 'memory.max' : 'memory.limit_in_bytes'), String(mib * 2 ** 20));
    await writeFile(join(group, 'cgroup.procs'), String(pid));
  } catch {
    await rmdir(group).catch(() => undefined);
    return () => Promise.resolve();
  }
  return () => removed(group);
};

/** The kernel lets go of a group a moment after its last process. */
const removed = async (group: string, triesLeft = 20): Promise<void> => {
  try {
    await rmdir(group);
  } catch (error) {
    if (triesLeft === 0) throw error;
    await pause(100);
    await removed(group, triesLeft - 1);
  }
};
