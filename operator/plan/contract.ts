import { parse, stringify } from 'yaml';
import type { ConfigFiles } from './plan.ts';
import type { BackendConfigEntry } from './server/spec.ts';

/** Why a value may not be served: it is wrong, or it asks for what does not exist yet. */
export interface Refusal {
  readonly reason: 'NotSupportedYet' | 'Invalid';
  /** Path, reason and remedy in one line. */
  readonly message: string;
}

type Value = Readonly<Record<string, unknown>>;

export const unsupportedFields = (_kind: string, _spec: unknown): readonly Refusal[] => [];

export const refusalsOf = (_files: ConfigFiles): readonly Refusal[] => [];

export const renderMain = (value: Value): string => stringify({ formatVersion: 1, ...value });

export const renderBackends = (backends: readonly unknown[]): string => stringify({ formatVersion: 1, backends });

export const startupKeys = (_value: Value): Value => ({});

/** `files` with the start-up keys of `old`: what a pod that started with `old` can take live. */
export const withStartupKeysOf = (files: ConfigFiles, old: ConfigFiles): ConfigFiles => {
  const before = valueOf(old['config.yaml']);
  const after = valueOf(files['config.yaml']);
  const live = Object.fromEntries(Object.entries(after).filter(([key]) => !(key in startupKeys(after))));
  return { ...files, 'config.yaml': renderMain({ ...live, ...startupKeys(before) }) };
};

/** The backends of a rendered `backends.yaml`. */
export const backendsIn = (files: ConfigFiles): readonly BackendConfigEntry[] =>
  (valueOf(files['backends.yaml'])['backends'] ?? []) as readonly BackendConfigEntry[];

const valueOf = (text: string | undefined): Value => (text === undefined ? {} : ((parse(text) ?? {}) as Value));
