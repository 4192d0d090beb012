import { type FSWatcher, watch } from 'node:fs';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { LOCAL_FILE, isManifest } from '../read/directory.ts';

/** Editors and `git checkout` write several times in a row: one change is what is quiet for this long. */
const QUIET_MS = 150;

/** Hears of a directory, or why nothing more will be heard. */
export interface DirectoryListener {
  readonly onChange: () => void;
  readonly onError: (error: Error) => void;
}

/** Calls `onChange` after manifests or `local.yaml` changed and stayed quiet. Files of `.vmcp` are no change. */
export const watchDirectory = (
  directory: string,
  clock: Clock,
  { onChange, onError }: DirectoryListener,
): { close(): void } => {
  let quiet: Timer | undefined;
  const watcher = watching(directory, onError, (name) => {
    // Some platforms do not say which file it was.
    if (name !== null && name !== LOCAL_FILE && !isManifest(name)) return;
    quiet?.cancel();
    quiet = clock.after(QUIET_MS, onChange);
  });
  return {
    close: () => {
      quiet?.cancel();
      watcher?.close();
    },
  };
};

const watching = (
  directory: string,
  onError: DirectoryListener['onError'],
  heard: (name: string | null) => void,
): FSWatcher | undefined => {
  try {
    return watch(directory, (_event, name) => heard(name)).on('error', onError);
  } catch (error) {
    // The machine gives no more watches, or the directory has just gone.
    onError(error as Error);
    return undefined;
  }
};
