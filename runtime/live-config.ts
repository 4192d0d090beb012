import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { formatProblem, loadConfig, startupChanges, type Config, type ConfigFile } from './config/index.ts';

export type ReloadResult =
  | { readonly ok: true }
  /** One line per problem; what was served before goes on being served. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** The configuration of the moment, and why a newer one is not served. */
export interface LiveConfig {
  readonly current: () => Config;
  /** SHA-256 (hex) over the names and texts of the files being served. */
  readonly hash: () => string;
  readonly refused: () => readonly string[] | undefined;
  readonly reload: (files: readonly ConfigFile[]) => ReloadResult;
}

export class InvalidConfigError extends Error {
  override readonly name = 'InvalidConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration is invalid: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/**
 * Throws InvalidConfigError. `prepare` gets every later configuration and returns how to change over to it; what it throws
 * refuses the configuration, with nothing changed.
 */
export const liveConfig = (files: readonly ConfigFile[], prepare: (config: Config) => () => void): LiveConfig => {
  const first = loadConfig(files);
  if (!first.ok) throw new InvalidConfigError(first.problems.map(formatProblem));
  let current = first.config;
  let hash = hashOf(files);
  let refused: readonly string[] | undefined;
  const refuse = (problems: readonly string[]): ReloadResult => {
    refused = problems;
    return { ok: false, problems };
  };
  return {
    current: () => current,
    hash: () => hash,
    refused: () => refused,
    reload: (newer) => {
      const loaded = loadConfig(newer);
      if (!loaded.ok) return refuse(loaded.problems.map(formatProblem));
      const fixed = startupChanges(loaded.config, current);
      if (fixed.length > 0) return refuse(fixed.map((key) => `${key} cannot change while the server runs: restart it`));
      const changeOver = attempt(() => prepare(loaded.config));
      if (!changeOver.ok) return refuse([`it cannot be served: ${changeOver.reason}`]);
      refused = undefined;
      hash = hashOf(newer);
      current = loaded.config;
      changeOver.value();
      return { ok: true };
    },
  };
};

const attempt = <T>(
  work: () => T,
): { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string } => {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
};

const hashOf = (files: readonly ConfigFile[]): string => {
  const hash = createHash('sha256');
  for (const { name, text } of files) hash.update(`${basename(name)}\0${text}\0`);
  return hash.digest('hex');
};
