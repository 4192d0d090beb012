import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isThere } from './command.ts';

/** A program that runs beside the tests until it is stopped. */
export interface Daemon {
  readonly name: string;
  readonly pid: number;
  /** Settles when the program has ended, with the reason; never rejects. */
  readonly ended: Promise<string>;
  readonly hasEnded: () => boolean;
  readonly stop: () => Promise<void>;
  /** The last lines of its log, for messages about failures. */
  readonly logTail: () => Promise<string>;
}

export interface DaemonOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts a program that dies with this process, even when this process is killed. */
async function startDaemon({ name, program, args, logFile, env }: DaemonOptions): Promise<Daemon> {
  const log = openSync(logFile, 'a');
  // The parent-death signal belongs to Linux; elsewhere a killed test run leaves its programs behind.
  const [command, ...rest] = (await knowsParentDeath())
    ? ['setpriv', '--pdeathsig', 'KILL', program, ...args]
    : [program, ...args];
  const child = spawn(command, rest, { stdio: ['ignore', log, log], ...(env === undefined ? {} : { env }) });
  closeSync(log);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`${name} could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(`${name} ended with ${code ?? signal}`));
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    name,
    pid: child.pid ?? -1,
    ended,
    hasEnded,
    stop: async () => {
      // Nothing here outlives the test, so nothing needs a graceful end.
      if (!hasEnded()) child.kill('SIGKILL');
      await ended;
    },
    logTail: async () => (await readFile(logFile, 'utf8').catch(() => '')).split('\n').slice(-20).join('\n'),
  };
}

let parentDeath: Promise<boolean> | undefined;
const knowsParentDeath = (): Promise<boolean> => (parentDeath ??= isThere('setpriv'));

/** Programs that only make sense together. */
export interface Crew {
  readonly start: (options: DaemonOptions) => Promise<Daemon>;
  /** The work's result, or a rejection as soon as one of the programs ends, with what it said last. */
  readonly watch: <T>(work: Promise<T>) => Promise<T>;
  /** Ends them all, in the order of their start. */
  readonly stop: () => Promise<void>;
}

export function newCrew(): Crew {
  const daemons: Daemon[] = [];
  let isStopped = false;
  const failure = Promise.withResolvers<never>();
  // There may be no watcher when the crew is stopped.
  failure.promise.catch(() => undefined);
  return {
    start: async (options) => {
      if (isStopped) throw new Error(`${options.name} is not started: the others were stopped`);
      const daemon = await startDaemon(options);
      daemons.push(daemon);
      void daemon.ended.then(async (reason) => failure.reject(new Error(`${reason}\n${await daemon.logTail()}`)));
      return daemon;
    },
    watch: (work) => Promise.race([work, failure.promise]),
    stop: async () => {
      isStopped = true;
      for (const daemon of daemons) await daemon.stop();
    },
  };
}
