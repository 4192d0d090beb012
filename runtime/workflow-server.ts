import { parse } from 'yaml';
import { type ConfigFile, formatProblem, InvalidConfigError, loadConfig, readConfigFiles } from './config/index.ts';
import { FURTHER_CHECKS } from './further-checks.ts';
import type { Log } from './observe/index.ts';
import { type Running, start } from './start.ts';
import type { StatusReport } from './status/index.ts';
import { nameOf } from './written-workflows.ts';

/**
 * The files of a server that has a workflow: those of its configuration, to which the workflow is added where it comes
 * from elsewhere. Throws InvalidConfigError.
 */
export const filesWith = async (
  config: string,
  workflow: unknown,
  isElsewhere: boolean,
): Promise<readonly ConfigFile[]> => {
  const read = await readConfigFiles(config);
  const problems = read.ok ? problemsOf(read.files) : read.problems.map(formatProblem);
  const [main, ...beside] = read.ok ? read.files : [];
  if (!main || problems.length > 0) throw new InvalidConfigError(problems);
  const files = [edited(main, isElsewhere ? workflow : undefined), ...beside];
  const further = problemsOf(files);
  if (further.length > 0) throw new InvalidConfigError(further);
  return files;
};

const problemsOf = (files: readonly ConfigFile[]): readonly string[] => {
  const loaded = loadConfig(files, FURTHER_CHECKS.problems);
  return loaded.ok ? [] : loaded.problems.map(formatProblem);
};

/** With a workflow in place of one of its name, or as it is. */
const edited = ({ name, text }: ConfigFile, workflow: unknown): ConfigFile => {
  const { compositeTools, audit, ...rest } = parse(text) as Readonly<Record<string, unknown>>;
  const written = Array.isArray(compositeTools) ? (compositeTools as readonly unknown[]) : [];
  const others = written.filter((each) => workflow === undefined || nameOf(each) !== nameOf(workflow));
  const tools = { compositeTools: workflow === undefined ? others : [...others, workflow] };
  return { name, text: JSON.stringify({ ...rest, ...tools, ...(audit !== undefined && { audit: apart(audit) }) }) };
};

/** Events without a file of their own would come on the standard output, and be taken for the result. */
const apart = (audit: unknown): unknown => {
  if (typeof audit !== 'object' || audit === null || ('logFile' in audit && audit.logFile !== '')) return audit;
  return { ...audit, enabled: false };
};

const STOP_AT_ONCE = { servingMs: 0, callsMs: 0, farewellMs: 1_000 };

/**
 * Starts a server that stops at once, on free ports of the loopback address: no other machine reaches them, but each
 * program of this one does while the server runs, and its own checks of callers apply.
 */
export const startServer = (files: readonly ConfigFile[], log: Log): Promise<Running> =>
  start({ files, port: 0, managementPort: 0, stopTimes: STOP_AT_ONCE }, { log });

/** Why a server does not offer a workflow, as far as it says; empty: it does. */
export const whyNotOffered = ({ incomplete = [], backends }: StatusReport, name: string): readonly string[] => {
  const missing = incomplete.find((each) => each.name === name)?.missing;
  if (!missing) return [];
  const away = backends.filter(({ status }) => status !== 'ready');
  return [
    `it is not offered, as no backend lists ${missing.join(', ')}`,
    ...away.map(({ name: backend, status, message }) => `${backend} is ${status}${message ? `: ${message}` : ''}`),
  ];
};
