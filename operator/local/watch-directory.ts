import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type Clock, type Timer, debounce } from '../../runtime/process/index.ts';
import { LOCAL_FILE, isManifest } from '../read/directory.ts';

/**
 * Editors and `git checkout` write several times in a row: one change is what is quiet for 150 ms, or has gone on for 2
 * s.
 */
const SETTLED = { quietMs: 150, atLatestMs: 2_000 };
/** File systems that are shared with another machine tell nothing, and the system may have no watches left. */
const POLL_MS = 2_000;

/** Calls `onChange` after manifests or `local.yaml` changed and stayed quiet. Files of `.vmcp` are no change. */
export const watchDirectory = (directory: string, clock: Clock, onChange: () => void): { close(): void } => {
  let known = fingerprintOf(directory);
  const settled = debounce(SETTLED, clock, () => {
    // Before the files are read, so that a change during the reading is one more.
    known = fingerprintOf(directory);
    onChange();
  });
  const watcher = watching(directory, (name) => {
    // Some platforms do not say which file it was.
    if (name === null || isRead(name)) settled.note();
  });
  const pollLater = (): Timer =>
    clock.after(POLL_MS, () => {
      const traits = fingerprintOf(directory);
      if (traits !== known) settled.note();
      known = traits;
      poll = pollLater();
    });
  let poll = pollLater();
  return {
    close: () => {
      poll.cancel();
      settled.cancel();
      watcher?.close();
    },
  };
};

const isRead = (name: string): boolean => name === LOCAL_FILE || isManifest(name);

/** Differs when a file that is read was changed, has come or has gone. */
const fingerprintOf = (directory: string): string => {
  try {
    return readdirSync(directory)
      .filter(isRead)
      .map((name) => `${name} ${fileFingerprint(join(directory, name))}`)
      .join('\n');
  } catch {
    return '';
  }
};

const fileFingerprint = (path: string): string => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? 'gone' : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
};

/** Undefined where the system has no watches left; then only the poll finds changes. */
const watching = (directory: string, heard: (name: string | null) => void): FSWatcher | undefined => {
  try {
    const watcher = watch(directory, (_event, name) => heard(name));
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
};
