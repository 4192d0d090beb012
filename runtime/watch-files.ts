import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import { type ConfigFile, readConfigFiles } from './config/index.ts';
import type { Clock, Timer } from './clock.ts';

/** One change of a file causes several events; a mounted ConfigMap swaps its `..data` link. */
const QUIET_MS = 100;
/** Some file systems tell nothing. */
const POLL_MS = 10_000;

/** Reads the configuration again when something in its directory has happened, and calls `onChange` when its text differs. Returns how to stop. */
export const watchConfig = (
  path: string,
  first: readonly ConfigFile[],
  deps: {
    readonly clock: Clock;
    readonly onChange: (files: readonly ConfigFile[]) => void;
    readonly onUnreadable: (reason: string) => void;
    /** `onChange` threw: a fault of ours, which must not end the process. */
    readonly onFailure: (error: unknown) => void;
  },
): (() => void) => {
  let known = JSON.stringify(first);
  let timer: Timer | undefined;
  let isStopped = false;
  const look = async (): Promise<void> => {
    const read = await readConfigFiles(path);
    if (isStopped) return;
    lookAfter(POLL_MS);
    const text = JSON.stringify(read.ok ? read.files : read.problems);
    if (text === known) return;
    known = text;
    if (read.ok) changeTo(read.files);
    else deps.onUnreadable(read.problems.map(({ reason }) => reason).join('; '));
  };
  const changeTo = (files: readonly ConfigFile[]): void => {
    try {
      deps.onChange(files);
    } catch (error) {
      deps.onFailure(error);
    }
  };
  const lookAfter = (ms: number): void => {
    timer?.cancel();
    timer = deps.clock.after(ms, () => void look());
  };
  const watcher = watchDirectory(dirname(path), () => lookAfter(QUIET_MS));
  lookAfter(POLL_MS);
  return () => {
    isStopped = true;
    timer?.cancel();
    watcher?.close();
  };
};

/** Undefined where the system has no watches left; then only the poll finds changes. */
const watchDirectory = (directory: string, onEvent: () => void): FSWatcher | undefined => {
  try {
    const watcher = watch(directory, onEvent);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
};
