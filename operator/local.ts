import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setInterval } from 'node:timers/promises';
import { systemClock } from '../runtime/process/index.ts';
import { start } from '../runtime/start.ts';
import { readLocalFile } from './local/local-file.ts';
import { LocalSession } from './local/local-session.ts';
import { takeLock } from './local/lock.ts';
import { LOCAL_USAGE, type LocalOptions, localOptions } from './local/options.ts';
import { isFreeOnLoopback } from './local/ports.ts';
import { type SecretFiles, secretFiles } from './local/secret-files.ts';
import { stateFiles } from './local/state-files.ts';
import { terminalLog } from './local/terminal-log.ts';
import { watchDirectory } from './local/watch-directory.ts';
import { readManifests } from './read/directory.ts';
import { InProcessRuntimes, type StartRuntime, asList } from './write/in-process.ts';
import { type CommandDeps, asksForHelp } from './command.ts';

/** How soon a change of a backend shows in the terminal and in `.vmcp/status.yaml`. */
const SHOW_EVERY_MS = 500;

/** `vmcp-operator local <dir>`: serves until `deps.signal` aborts. The answer is the exit code. */
export const runLocal = async (args: readonly string[], deps: CommandDeps): Promise<number> => {
  if (asksForHelp(args)) {
    deps.stdout(LOCAL_USAGE);
    return 0;
  }
  const parsed = localOptions(args);
  if (!parsed.ok) {
    deps.stderr(`${parsed.problem}\n\n${LOCAL_USAGE}`);
    return 2;
  }
  if (identityOf(parsed.options.directory) === undefined) {
    deps.stderr(`${parsed.options.directory} is no directory\n`);
    return 2;
  }
  const lock = takeLock(parsed.options.directory);
  if ('heldBy' in lock) {
    deps.stderr(
      `${parsed.options.directory} is already served by process ${lock.heldBy}; stop that first, or remove .vmcp/lock if it is something else\n`,
    );
    return 1;
  }
  try {
    return await serveDirectory(parsed.options, deps);
  } finally {
    lock.release();
  }
};

const serveDirectory = async (options: LocalOptions, deps: CommandDeps): Promise<number> => {
  const secrets = secretFiles(tmpdir());
  const runtimes = new InProcessRuntimes(startOnLoopback(deps));
  try {
    return await serve(newSession(options, { deps, secrets, runtimes }), options.directory, deps);
  } finally {
    await runtimes.stop();
    secrets.remove();
  }
};

interface Parts {
  readonly deps: CommandDeps;
  readonly secrets: SecretFiles;
  readonly runtimes: InProcessRuntimes;
}

const newSession = (options: LocalOptions, { deps, secrets, runtimes }: Parts): LocalSession =>
  new LocalSession(options, {
    readManifests: () => readManifests(options.directory),
    readLocalFile: () => readLocalFile(options.directory),
    state: stateFiles(options.directory),
    secrets,
    isFree: isFreeOnLoopback,
    runtimes,
    stdout: deps.stdout,
    stderr: deps.stderr,
  });

/** Identifies a directory, also against another one that took its name; undefined when there is none. */
const identityOf = (directory: string): string | undefined => {
  const stat = statSync(directory, { throwIfNoEntry: false });
  return stat?.isDirectory() === true ? `${stat.dev}/${stat.ino}` : undefined;
};

const serve = async (session: LocalSession, directory: string, deps: CommandDeps): Promise<number> => {
  const identity = identityOf(directory);
  const passes = passesOver(session, deps);
  // Watching starts before the first pass: starting the servers takes a while, and a change meanwhile must not be lost.
  const watcher = watchDirectory(directory, systemClock, passes.follow);
  try {
    const exitCode = await passes.begin();
    if (exitCode !== undefined) return exitCode;
    for await (const _ of setInterval(SHOW_EVERY_MS, undefined, { signal: deps.signal })) {
      await passes.ended();
      if (identityOf(directory) !== identity) {
        deps.stderr(`${directory} is gone or another one has taken its name; start again to serve it\n`);
        return 1;
      }
      if (session.isIncomplete) passes.follow();
      else session.show();
    }
  } catch (error) {
    if (!deps.signal.aborted) throw error;
  } finally {
    watcher.close();
    await passes.ended();
  }
  return 0;
};

/** One pass after the other; a change during a pass, the first one included, is seen by the next. */
const passesOver = (session: LocalSession, { stderr }: Pick<CommandDeps, 'stderr'>) => {
  let goesOn = false;
  let passes: Promise<unknown> = Promise.resolve();
  return {
    /** As `LocalSession.begin`. */
    begin: async (): Promise<1 | 2 | undefined> => {
      const begun = session.begin();
      passes = begun.then(
        (exitCode) => (goesOn = exitCode === undefined),
        () => {},
      );
      return begun;
    },
    follow: (): void => {
      passes = passes
        .then(() => goesOn && session.follow())
        .catch((error: unknown) => stderr(`${error instanceof Error ? error.message : String(error)}\n`));
    },
    ended: async (): Promise<void> => void (await passes),
  };
};

/** No load balancer stands in front of local mode, so a stop need not wait until one notices. */
const STOP_TIMES = { servingMs: 0, callsMs: 2_000, farewellMs: 500 };

const startOnLoopback =
  ({ env, stderr }: Pick<CommandDeps, 'env' | 'stderr'>): StartRuntime =>
  (name, { files, port }) =>
    start(
      { files: asList(files), host: '127.0.0.1', port, managementPort: port + 1, stopTimes: STOP_TIMES },
      { log: terminalLog(name, stderr), environment: (variable) => env[variable] },
    );
