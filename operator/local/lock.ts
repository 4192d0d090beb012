import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill, pid } from 'node:process';

/** Held until `release`, or by another process that lives. */
export type Lock = { readonly release: () => void } | { readonly heldBy: number };

/**
 * `<dir>/.vmcp/lock` with the number of the process that serves the directory: two would take turns in overwriting its
 * ports and status. The lock of a process that has ended is taken over.
 */
export const takeLock = (directory: string): Lock => {
  const path = join(directory, '.vmcp', 'lock');
  try {
    mkdirSync(join(directory, '.vmcp'), { recursive: true });
    for (;;) {
      if (isMade(path)) return { release: () => rmSync(path, { force: true }) };
      const holder = holderOf(path);
      if (holder !== undefined) return { heldBy: holder };
      rmSync(path, { force: true });
    }
  } catch {
    // Where nothing can be written there is nothing to fight over; the first write of state tells.
    return { release: () => {} };
  }
};

const isMade = (path: string): boolean => {
  try {
    writeFileSync(path, `${pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

/**
 * Undefined when it has ended. Our own number is that of an earlier life: in a container every process has the same.
 */
const holderOf = (path: string): number | undefined => {
  const holder = Number(readFileSync(path, 'utf8'));
  return Number.isInteger(holder) && holder > 0 && holder !== pid && isAlive(holder) ? holder : undefined;
};

const isAlive = (holder: number): boolean => {
  try {
    kill(holder, 0);
    return true;
  } catch (error) {
    // A process of another user may not be signalled.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
