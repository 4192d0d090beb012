#!/usr/bin/env -S node --max-semi-space-size=8 --no-allocation-site-pretenuring --no-parallel-scavenge
import { readFile } from 'node:fs/promises';
import { checkConfigFiles, formatProblem, readConfigFiles, InvalidConfigError, watchConfig } from './config/index.ts';
import {
  type Command,
  type DrawCommand,
  type ExplainCommand,
  type RevokeUserCommand,
  type RunCommand,
  readCommand,
  type TextSource,
  USAGE,
  steadyClock,
  systemClock,
} from './process/index.ts';
import { askToExplain } from './explain/index.ts';
import { askToRevoke } from './ask-to-revoke.ts';
import { drawWorkflow } from './draw-workflow.ts';
import { createLog } from './observe/index.ts';
import { FURTHER_CHECKS } from './further-checks.ts';
import { runWorkflow } from './run-workflow.ts';
import { start } from './start.ts';
import { openTerminal } from './terminal.ts';
import { VERSION } from './version.ts';

const serve = async (command: Extract<Command, { kind: 'serve' }>): Promise<number | 'serving'> => {
  const read = await readConfigFiles(command.config);
  if (!read.ok) return complain(read.problems.map(formatProblem));
  const log = createLog({ level: 'info' });
  // Listens for signals first, so that a signal during the start is not lost.
  const stopped = firstSignal();
  const running = await start({ ...command, files: read.files });
  const stopWatching = watchConfig(command.config, read.files, {
    clock: systemClock,
    read: readConfigFiles,
    onChange: (files) => void running.reload(files),
    onUnreadable: (reason) => log.warn({ reason }, 'the configuration cannot be read, the old one goes on'),
    onFailure: (err) => log.error({ err }, 'the new configuration could not be taken over'),
  });
  void stopped.then(async (signal) => {
    log.info({ signal }, 'stopping');
    stopWatching();
    await running.stop();
    process.exit(0);
  });
  return 'serving';
};

/** A second signal, of either kind, meets no listener and so ends the process at once. */
const firstSignal = (): Promise<string> =>
  new Promise((resolve) => {
    const onSignal = (signal: string): void => {
      for (const each of STOP_SIGNALS) process.off(each, onSignal);
      resolve(signal);
    };
    for (const each of STOP_SIGNALS) process.on(each, onSignal);
  });

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const complain = (problems: readonly string[]): number => {
  process.stderr.write(`${problems.join('\n')}\n`);
  return 1;
};

const validate = async (config: string): Promise<number> => {
  const { exitCode, output } = await checkConfigFiles(config, FURTHER_CHECKS);
  process.stdout.write(output);
  return exitCode;
};

const explain = async (command: ExplainCommand): Promise<number> => {
  const { asked, token, args, query, managementUrl, managementToken, output: form } = command;
  const { exitCode, output } = await askToExplain(
    {
      ...asked,
      query,
      managementUrl,
      output: form,
      token: await textOf(token),
      args: await textOf(args),
      managementToken: await textOf(managementToken),
    },
    fetchInTime,
  );
  (exitCode === 2 ? process.stderr : process.stdout).write(output);
  return exitCode;
};

const revokeUser = async (command: RevokeUserCommand): Promise<number> => {
  const managementToken = await textOf(command.managementToken);
  const { exitCode, output } = await askToRevoke({ ...command, managementToken }, fetchInTime);
  (exitCode === 0 ? process.stdout : process.stderr).write(output);
  return exitCode;
};

const draw = async ({ config, name, form }: DrawCommand): Promise<number> => {
  const file = { name: config, text: await readFile(config, 'utf8') };
  const { exitCode, output, complaints } = drawWorkflow({ file, name, form });
  process.stdout.write(output);
  process.stderr.write(complaints);
  return exitCode;
};

/** What is asked for goes to the standard output, all else to that of errors. */
const runOnce = async (command: RunCommand): Promise<number> => {
  const ended = new AbortController();
  void firstSignal().then((signal) => ended.abort(new Error(`ended by ${signal}`)));
  const { stdin, stdout, stderr } = process;
  const terminal =
    stdin.isTTY && stderr.isTTY ? openTerminal({ input: stdin, output: stderr }, ended.signal) : undefined;
  const deps = {
    print: (text: string) => void stdout.write(text),
    tell: (line: string) => void stderr.write(`${line}\n`),
    textOf: async (source: TextSource) => (await textOf(source)) ?? '',
    terminal,
    log: createLog({ level: 'info' }, stderr),
    steadyNow: steadyClock.now,
    signal: ended.signal,
  };
  return runWorkflow(command, deps).finally(() => terminal?.close());
};

const fetchInTime: typeof fetch = (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) });

/** The server waits for backends that it does not know yet, and for the issuer of a token. */
const ANSWER_MS = 60_000;

const textOf = async (source: TextSource | undefined): Promise<string | undefined> => {
  if (source === undefined) return undefined;
  return 'text' in source ? source.text : (await readFile(source.file, 'utf8')).trim();
};

/** The exit code, or `serving` while the process continues to serve. */
const run = async (command: Command): Promise<number | 'serving'> => {
  switch (command.kind) {
    case 'serve':
      return serve(command);
    case 'validate':
      return validate(command.config);
    case 'explain':
      return explain(command).catch(unanswered);
    case 'revoke-user':
      return revokeUser(command).catch(unanswered);
    case 'draw-workflow':
      return draw(command);
    case 'run-workflow':
      return runOnce(command);
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return 0;
    default:
      return explainUsage(command.problem);
  }
};

const unanswered = (error: unknown): number => {
  complain([error instanceof Error ? error.message : String(error)]);
  return 2;
};

const explainUsage = (problem: string | undefined): number => {
  if (problem === undefined) process.stdout.write(USAGE);
  else process.stderr.write(`${problem}\n\n${USAGE}`);
  return problem === undefined ? 0 : 2;
};

const main = async (): Promise<void> => {
  try {
    const exitCode = await run(readCommand(process.argv.slice(2), process.env));
    if (exitCode !== 'serving') process.exitCode = exitCode;
  } catch (error) {
    process.exitCode = complain(
      error instanceof InvalidConfigError ? error.problems : [error instanceof Error ? error.message : String(error)],
    );
  }
};

await main();
