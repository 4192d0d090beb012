import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Config, type ConfigCheck, loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';
import { startupChanges } from './render.ts';
import type { ConfigFile } from './yaml-text.ts';

export type ReloadResult =
  | { readonly ok: true }
  /** One line per problem; the earlier configuration stays in force. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** The current configuration, and why a newer one is not served. */
export interface LiveConfig {
  readonly current: () => Config;
  /** SHA-256 (hex) over the names and texts of the files being served. */
  readonly hash: () => string;
  readonly refused: () => readonly string[] | undefined;
  /** Registers a participant of reloads; participants are called in the order of registration. */
  readonly onReload: (prepare: PrepareReload) => void;
  /**
   * The value that `make` derives from a part of the configuration, derived again only when that part has changed. An
   * error of `make` refuses the configuration. `close` gets each value that is no longer used, or never was, since
   * another participant refused the configuration; it must not throw. The value in use when the runtime stops is closed
   * by its owner.
   */
  readonly live: <Part, Made>(
    part: (config: Config) => Part,
    make: (part: Part) => Made,
    close?: (made: Made) => void,
  ) => () => Made;
  readonly reload: (files: readonly ConfigFile[]) => ReloadResult;
}

/**
 * Prepares everything that the newer configuration needs and returns the function that switches to it, which must not
 * throw. If preparing throws, the configuration is refused and nothing has changed.
 */
export type PrepareReload = (newer: Config) => Change;

/**
 * Neither function throws. `giveUp` is called in place of `change` where another participant refuses the configuration.
 */
export type Change = (() => void) | { readonly change: () => void; readonly giveUp: () => void };

/** The configuration cannot be loaded or served; `problems` has one line per problem. */
export class InvalidConfigError extends Error {
  override readonly name = 'InvalidConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration is invalid: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/** Loads the files and keeps the configuration; `further` checks each one. Throws InvalidConfigError. */
export const liveConfig = (files: readonly ConfigFile[], further?: ConfigCheck): LiveConfig => {
  const first = loadConfig(files, further);
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
      const loaded = loadConfig(newer, further);
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

/** All participants, or none: where one refuses, those before it give up what they have prepared. */
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
