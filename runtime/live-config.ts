import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
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
  /** Everything that serves by the configuration takes part in a reload, in the order in which it came. */
  readonly onReload: (prepare: PrepareReload) => void;
  /**
   * What `make` makes of a part of the configuration, at every moment: made anew only when that part has changed. What `make` throws
   * refuses the configuration. `close` is told of what is not used any more, or never was, since something else refused the configuration;
   * it must not throw. What is in use when the runtime stops is for its owner to close.
   */
  readonly live: <Part, Made>(
    part: (config: Config) => Part,
    make: (part: Part) => Made,
    close?: (made: Made) => void,
  ) => () => Made;
  readonly reload: (files: readonly ConfigFile[]) => ReloadResult;
}

/**
 * Makes all that the newer configuration needs and returns how to change over to it, which must not throw. What it throws itself refuses
 * the configuration, with nothing changed anywhere.
 */
export type PrepareReload = (newer: Config) => Change;

/** Neither throws. `giveUp` is called in place of `change` where something else refuses the configuration. */
export type Change = (() => void) | { readonly change: () => void; readonly giveUp: () => void };

export class InvalidConfigError extends Error {
  override readonly name = 'InvalidConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration is invalid: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/** Throws InvalidConfigError. */
export const liveConfig = (files: readonly ConfigFile[]): LiveConfig => {
  const first = loadConfig(files);
  if (!first.ok) throw new InvalidConfigError(first.problems.map(formatProblem));
  let current = first.config;
  let hash = hashOf(files);
  let refused: readonly string[] | undefined;
  const participants: PrepareReload[] = [];
  const refuse = (problems: readonly string[]): ReloadResult => {
    refused = problems;
    return { ok: false, problems };
  };
  const onReload = (prepare: PrepareReload): void => void participants.push(prepare);
  return {
    current: () => current,
    hash: () => hash,
    refused: () => refused,
    onReload,
    live: (part, make, close = () => {}) => {
      let of = part(current);
      let made = make(of);
      onReload((newer) => {
        const newerPart = part(newer);
        if (isDeepStrictEqual(newerPart, of)) return () => {};
        const newerMade = make(newerPart);
        const change = (): void => {
          const before = made;
          of = newerPart;
          made = newerMade;
          close(before);
        };
        return { change, giveUp: () => close(newerMade) };
      });
      return () => made;
    },
    reload: (newer) => {
      const loaded = loadConfig(newer);
      if (!loaded.ok) return refuse(loaded.problems.map(formatProblem));
      const fixed = startupChanges(loaded.config, current);
      if (fixed.length > 0) return refuse(fixed.map((key) => `${key} cannot change while the server runs: restart it`));
      const changeOver = prepareAll(participants, loaded.config);
      if (!changeOver.ok) return refuse([`it cannot be served: ${changeOver.reason}`]);
      refused = undefined;
      hash = hashOf(newer);
      current = loaded.config;
      for (const change of changeOver.changes)
        if (typeof change === 'function') change();
        else change.change();
      return { ok: true };
    },
  };
};

/** All of them, or none: where one refuses, those before it give up what they have made. */
const prepareAll = (
  participants: readonly PrepareReload[],
  newer: Config,
): { readonly ok: true; readonly changes: readonly Change[] } | { readonly ok: false; readonly reason: string } => {
  const changes: Change[] = [];
  try {
    for (const prepare of participants) changes.push(prepare(newer));
    return { ok: true, changes };
  } catch (error) {
    for (const change of changes) if (typeof change !== 'function') change.giveUp();
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
};

const hashOf = (files: readonly ConfigFile[]): string => {
  const hash = createHash('sha256');
  for (const { name, text } of files) hash.update(`${basename(name)}\0${text}\0`);
  return hash.digest('hex');
};
