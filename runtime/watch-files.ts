import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { ConfigFile, ReadFiles } from './config/index.ts';
import type { Clock, Timer } from './clock.ts';
import { debounce } from './debounce.ts';

/** One change of a file causes several events; a mounted ConfigMap swaps its `..data` link. Something else there may change all the time. */
const SETTLED = { quietMs: 100, atLatestMs: 1_000 };
/** Some file systems tell nothing. */
const POLL_MS = 10_000;

export interface WatchConfigDeps {
  readonly clock: Clock;
  /** Reads the file and those beside it. */
  readonly read: (path: string) => Promise<ReadFiles>;
  readonly onChange: (files: readonly ConfigFile[]) => void;
  readonly onUnreadable: (reason: string) => void;
  /** `onChange` threw: a fault of ours, which must not end the process. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Reads the configuration again when something in its directory has happened, and calls `onChange` when its text differs. Returns how to stop.
 * What happens while it is being read is looked at by the next read.
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
  // Apart from the poll, whose timer begins anew after each read.
  const settled = debounce(SETTLED, deps.clock, look);
  const watcher = watchDirectory(dirname(path), settled.note);
  pollLater();
  return () => {
    isStopped = true;
    poll?.cancel();
    settled.cancel();
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
