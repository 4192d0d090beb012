import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BACKENDS_FILE, type Config, type ConfigCheck, loadConfig } from './load.ts';
import { formatProblem, type Problem } from './problem.ts';
import { warningsOf } from './warnings.ts';
import { type ConfigFile, MAX_FILE_BYTES } from './yaml-text.ts';

export type ReadFiles =
  | { readonly ok: true; readonly files: readonly ConfigFile[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads the configuration file and, if it lies beside it, `backends.yaml`. Links are followed once, so that both files
 * come from the same version of a mounted ConfigMap (its `..data` link is swapped at any time).
 */
export async function readConfigFiles(path: string): Promise<ReadFiles> {
  try {
    const real = await realpath(path);
    const main = await readText(real, path);
    const name = join(dirname(path), BACKENDS_FILE);
    const beside = await readText(join(dirname(real), BACKENDS_FILE), name).catch(absentIsFine);
    return { ok: true, files: beside === undefined ? [main] : [main, beside] };
  } catch (error) {
    return { ok: false, problems: [unreadable(path, error)] };
  }
}

/** Checks of other rooms: what refuses a file, and what is only questionable. */
export interface FurtherChecks {
  readonly problems: ConfigCheck;
  readonly warnings: (config: Config) => readonly string[];
}

/** The output of `vmcp validate`, and its exit code: 0 for a file that would be served, 1 otherwise. */
export async function checkConfigFiles(
  path: string,
  further?: FurtherChecks,
): Promise<{ readonly exitCode: 0 | 1; readonly output: string }> {
  const read = await readConfigFiles(path);
  const loaded = read.ok ? loadConfig(read.files, further?.problems) : read;
  if (loaded.ok) {
    const all = [...warningsOf(loaded.config), ...(further?.warnings(loaded.config) ?? [])];
    const warnings = all.map((warning) => `warning: ${warning}\n`);
    return { exitCode: 0, output: `${warnings.join('')}${path}: valid\n` };
  }
  const lines = loaded.problems.map(formatProblem);
  const count = lines.length === 1 ? '1 problem' : `${lines.length} problems`;
  return { exitCode: 1, output: `${lines.join('\n')}\n${count}\n` };
}

async function readText(real: string, name: string): Promise<ConfigFile> {
  const { size } = await stat(real);
  if (size > MAX_FILE_BYTES) throw new Error(`${basename(name)} is larger than 4 MiB`);
  const bytes = await readFile(real);
  return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
}

function absentIsFine(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

function unreadable(path: string, error: unknown): Problem {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    file: path,
    line: 1,
    column: 1,
    path: '',
    reason: `cannot be read: ${reason}`,
    remedy: 'check the file and its name',
  };
}
