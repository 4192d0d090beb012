import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { ReadFiles } from './read-files.ts';
import type { ConfigFile } from './yaml-text.ts';
import { type Clock, type Timer, debounce } from '../process/index.ts';

/**
 * One change of a file causes several events; a mounted ConfigMap swaps its `..data` link. Other files in the directory
 * may change all the time.
 */
const DEBOUNCE = { quietMs: 100, atLatestMs: 1_000 };
/** Some file systems send no events. */
const POLL_MS = 10_000;

export interface WatchConfigDeps {
  readonly clock: Clock;
  /** Reads the file and those beside it. */
  readonly read: (path: string) => Promise<ReadFiles>;
  readonly onChange: (files: readonly ConfigFile[]) => void;
  readonly onUnreadable: (reason: string) => void;
  /** Called when `onChange` threw, which must not end the process. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Reads the configuration again after events in its directory, and calls `onChange` when its text differs. Returns the
 * function that stops watching. Changes during a read are found by the next one.
 */
export const watchConfig = (path: string, first: readonly ConfigFile[], deps: WatchConfigDeps): (() => void) => {
  let known = JSON.stringify(first);
  let poll: Timer | undefined;
  let isStopped = false;
  let looks: Promise<void> = Promise.resolve();
  const lookOnce = async (): Promise<void> => {
    const read = await deps.read(path);
    if (isStopped) return;
    pollLater();
    const text = JSON.stringify(read.ok ? read.files : read.problems);
    if (text === known) return;
    known = text;
    if (read.ok) deps.onChange(read.files);
    else deps.onUnreadable(read.problems.map(({ reason }) => reason).join('; '));
  };
  const look = (): void => {
    looks = looks.then(lookOnce).catch(deps.onFailure);
  };
  const pollLater = (): void => {
    poll?.cancel();
    poll = deps.clock.after(POLL_MS, look);
  };
  // Separate from the poll, whose timer restarts after each read.
  const settled = debounce(DEBOUNCE, deps.clock, look);
  const watcher = watchDirectory(dirname(path), settled.note);
  pollLater();
  return () => {
    isStopped = true;
    poll?.cancel();
    settled.cancel();
    watcher?.close();
  };
};

/** Watches a directory. Undefined where the system has no watches left: then only the poll finds changes. */
const watchDirectory = (directory: string, onEvent: () => void): FSWatcher | undefined => {
  try {
    const watcher = watch(directory, onEvent);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
};
