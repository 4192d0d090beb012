import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'vmcp-test-';

/**
 * A folder for one run of something. Folders that a killed test run left behind are removed first: they name their
 * process.
 */
export async function scratchFolder(
  purpose: string,
): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  await removeLeftOvers();
  const path = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-${purpose}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

async function removeLeftOvers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    // Another user's left-overs are not ours to remove.
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
