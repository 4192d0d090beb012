import { compositeToolSchema, findingsIn, formatPath, InvalidConfigError } from './config/index.ts';
import type { ConfigFile } from './config/index.ts';
import { objectIn } from './json/index.ts';
import type { Log } from './observe/index.ts';
import type { RunCommand, TextSource } from './process/index.ts';
import { printable } from './text.ts';
import { VERSION } from './version.ts';
import { checkedParameters, dryRun, dryRunReport, type WorkflowConfig } from './workflow/index.ts';
import {
  answering,
  callWorkflow,
  type GivenAnswers,
  readAnswers,
  type Terminal,
  type WorkflowOutcome,
} from './workflow-client/index.ts';
import { filesWith, startServer, whyNotOffered } from './workflow-server.ts';
import { faultsOf, holdsManifests, nameOf, workflowNamed, workflowsIn } from './written-workflows.ts';

/** What the command reads and writes. */
export interface RunDeps {
  /** Writes what was asked for. */
  readonly print: (text: string) => void;
  /** Writes a line about it. */
  readonly tell: (line: string) => void;
  readonly textOf: (source: TextSource) => Promise<string>;
  /** Absent: nobody can be asked. */
  readonly terminal: Terminal | undefined;
  /** Of the server of this process. */
  readonly log: Log;
  /** Milliseconds since some moment. */
  readonly steadyNow: () => number;
  /** Ends the run. */
  readonly signal: AbortSignal;
}

/** 0: done; 1: it failed; 2: nothing was called, as the command line or a file is wrong. */
type ExitCode = 0 | 1 | 2;

/** `vmcp workflow run`. Never throws. */
export const runWorkflow = async (command: RunCommand, given: RunDeps): Promise<ExitCode> => {
  const deps = printing(given);
  const work = await prepared(command, deps).catch((error: unknown) => complained(error, deps));
  if (!work) return 2;
  try {
    return await work();
  } catch (error) {
    complained(deps.signal.aborted ? deps.signal.reason : error, deps);
    return 1;
  }
};

/** Texts of servers and files are in many lines; none of them reaches the terminal with control characters. */
const printing = ({ tell, terminal, ...deps }: RunDeps): RunDeps => ({
  ...deps,
  tell: (line) => tell(printable(line)),
  terminal: terminal && {
    show: (line) => terminal.show(printable(line)),
    ask: (prompt) => terminal.ask(printable(prompt)),
  },
});

const complained = (error: unknown, { tell }: RunDeps): undefined => {
  const lines = error instanceof InvalidConfigError ? error.problems : [wordsOf(error)];
  for (const line of lines) tell(line);
};

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

type Work = () => Promise<ExitCode>;

/** Everything that can be wrong before something is called. Throws what the user is told. */
const prepared = async ({ target, ...command }: RunCommand, deps: RunDeps): Promise<Work> => {
  const answers = readAnswers(command.answers);
  const read = (source: TextSource, flag: string): Promise<string> =>
    deps.textOf(source).catch((error: unknown) => {
      throw new Error(`${flag}: it cannot be read: ${wordsOf(error)}; check the file and its name`);
    });
  const text = command.params ? await read(command.params, '--params') : '{}';
  const token = command.token && (await read(command.token, '--token-file'));
  const caller = { token, params: text, answers };
  if (target.kind === 'server') {
    demandObject(text);
    return async () => told(target.name, await called({ ...caller, ...target }, deps), deps);
  }
  const file = target.kind === 'file' ? target.file : target.config;
  const written = await read({ file }, file);
  const found = foundIn({ name: file, text: written }, target.kind === 'named' ? target.name : undefined);
  const workflow = workflowOf(found, file);
  const params = demandParameters(workflow, text);
  demandAskingSteps(workflow, answers);
  if (command.isDryRun) return () => shown(workflow, params, deps);
  const { config = file } = target;
  if (config === file && holdsManifests({ name: file, text: written }))
    throw new Error(`${file}: these are manifests, and a run needs a configuration; give one with -c, or --dry-run`);
  const files = await filesWith(config, found, config !== file);
  return async () => runHere({ ...caller, name: workflow.name, files }, deps);
};

/** The workflow of a file as it is written: the one of this name, or the only one. */
const foundIn = (written: ConfigFile, name: string | undefined): unknown => {
  if (name === undefined) return onlyOneIn(written);
  const found = workflowNamed(written, name);
  if (found.ok) return found.workflow;
  throw new Error(`${written.name}: ${found.problem}`);
};

const onlyOneIn = (written: ConfigFile): unknown => {
  const file = written.name;
  const all = workflowsIn(written);
  if (all.length === 0) throw new Error(`${file}: there is no composite tool in it`);
  if (all.length === 1) return all[0];
  const names = all.map(nameOf).join(', ');
  throw new Error(`${file}: it has the composite tools ${names}; name one: vmcp workflow run NAME -c ${file}`);
};

const workflowOf = (written: unknown, file: string): WorkflowConfig => {
  const findings = findingsIn(compositeToolSchema, written);
  const lines = findings.map(({ path, reason, remedy }) => `${formatPath(path)}: ${reason}; ${remedy}`);
  const faults = lines.length > 0 ? lines : faultsOf(written);
  if (faults.length > 0)
    throw new InvalidConfigError(faults.map((line) => `${file}: ${nameOf(written) ?? 'composite tool'}: ${line}`));
  return compositeToolSchema.parse(written);
};

const demandParameters = (workflow: WorkflowConfig, text: string): Readonly<Record<string, unknown>> => {
  const checked = checkedParameters(workflow, text);
  if (checked.ok) return checked.params;
  throw new InvalidConfigError(checked.problems.map((line) => `--params: ${line}`));
};

/** The server knows what its workflow takes. */
const demandObject = (text: string): void => {
  if (!objectIn(text)) throw new Error('--params: they are no JSON object; write {"name": value}');
};

const demandAskingSteps = ({ name, steps }: WorkflowConfig, answers: GivenAnswers): void => {
  const asking = steps.flatMap(({ id, type }) => (type === 'elicitation' ? [id] : []));
  const stray = [...answers.keys()].find((step) => !asking.includes(step));
  if (stray === undefined) return;
  const known = asking.length === 0 ? `${name} asks nothing` : `the steps that ask are ${asking.join(', ')}`;
  throw new Error(`--answer ${stray}=…: no step of this id asks the user; ${known}`);
};

const shown: (
  workflow: WorkflowConfig,
  params: Readonly<Record<string, unknown>>,
  deps: RunDeps,
) => Promise<ExitCode> = async (workflow, params, { print, steadyNow }) => {
  const run = await dryRun(workflow, params, { steadyNow });
  print(dryRunReport(workflow, params, run));
  return run.failure ? 1 : 0;
};

interface Called {
  readonly name: string;
  readonly url: string;
  readonly token: string | undefined;
  /** JSON text. */
  readonly params: string;
  readonly answers: GivenAnswers;
}

const called = async (
  { name, url, token, params, answers }: Called,
  { signal, tell, terminal }: RunDeps,
): Promise<WorkflowOutcome> => {
  const { answer, unused } = answering(answers, terminal);
  const server = { url, token, version: VERSION };
  const outcome = await callWorkflow({ server, name, params }, { signal, tell, answer });
  for (const step of unused()) tell(`--answer ${step}=…: no step of this id has asked`);
  return outcome;
};

const told = (name: string, outcome: WorkflowOutcome, { print, tell }: RunDeps): ExitCode => {
  if (outcome.kind === 'completed') {
    print(`${outcome.result}\n`);
    return 0;
  }
  for (const line of outcome.message.split('\n')) tell(`${name}: ${line}`);
  return 1;
};

interface RunHere extends Omit<Called, 'url'> {
  readonly files: readonly ConfigFile[];
}

/** Runs it by a server that this process starts for it. What that warned of is told where the run fails. */
const runHere = async ({ files, ...caller }: RunHere, deps: RunDeps): Promise<ExitCode> => {
  const warnings: (() => void)[] = [];
  // Before it listens it warns of tools that no backend lists yet.
  let isListening = false;
  const warn: Log['warn'] = (fields, message) => {
    if (isListening && warnings.length < MOST_WARNINGS) warnings.push(() => deps.log.warn(fields, message));
  };
  const server = await startServer(files, { ...deps.log, debug: () => {}, info: () => {}, warn });
  isListening = true;
  try {
    const outcome = await called({ ...caller, url: server.url }, deps);
    const exitCode = told(caller.name, outcome, deps);
    if (exitCode === 0) return exitCode;
    for (const line of whyNotOffered(server.status(), caller.name)) deps.tell(line);
    for (const tell of warnings) tell();
    return exitCode;
  } finally {
    await server.stop();
  }
};

const MOST_WARNINGS = 50;
