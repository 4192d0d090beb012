import { parse } from 'yaml';
import { unsupported } from '../../crds/index.ts';
import {
  type ConfigInput,
  STARTUP_KEYS,
  backendsFileSchema,
  formatProblem,
  loadConfig,
  operationalSchema,
  renderBackends,
  renderConfig,
  unsupportedIn,
} from '../../runtime/config/index.ts';
import { hashOf } from './canonical.ts';
import type { ConfigFiles } from './plan.ts';
import type { BackendConfigEntry, ServerSpec } from './server/spec.ts';

/** Why a value may not be served: it is wrong, or it asks for what does not exist yet. */
export interface Refusal {
  readonly reason: 'NotSupportedYet' | 'Invalid';
  /** Path, reason and remedy in one line. */
  readonly message: string;
}

type Value = Readonly<Record<string, unknown>>;

/** Fields of a resource that the operator, or the runtime behind it, does not act on yet (decisions "Not supported yet"). */
export const unsupportedFields = (kind: string, spec: unknown): readonly Refusal[] =>
  unsupported(kind, { spec }).map(({ path, reason, remedy }) => ({
    reason: 'NotSupportedYet',
    message: `${path}: ${reason}; ${remedy}`,
  }));

/** What the runtime itself would say about these files: nothing that it would refuse is ever written. */
export const refusalsOf = (files: ConfigFiles): readonly Refusal[] => {
  const loaded = loadConfig(Object.entries(files).map(([name, text]) => ({ name, text })));
  return loaded.ok ? [] : loaded.problems.map((each) => ({ reason: 'Invalid', message: formatProblem(each) }));
};

/** The same for a single backend, so that one that is refused cannot take the others down with it. */
export const backendRefusals = (entry: BackendConfigEntry): readonly Refusal[] => {
  const missing = unsupportedIn(backendsFileSchema, { backends: [entry] });
  if (missing.length > 0) {
    return missing.map(({ reason, remedy }) => ({ reason: 'NotSupportedYet', message: `${reason}; ${remedy}` }));
  }
  const { error } = backendsFileSchema.safeParse({ backends: [entry] });
  return (error?.issues ?? []).map(({ path, message }) => ({
    reason: 'Invalid',
    message: `${path.slice(2).join('.')}: ${message}`,
  }));
};

/** The operator builds the value from resources whose schema embeds the file's; `refusalsOf` tells if it is wrong after all. */
export const renderMain = (value: Value): string => renderConfig(value as ConfigInput);

export const renderFound = (backends: readonly BackendConfigEntry[]): string =>
  renderBackends({ backends: [...backends] });

/** Hash over the keys of the rendered config that cannot change live: a new one needs new pods. */
export const startupHashOf = (files: ConfigFiles): string =>
  hashOf(Object.fromEntries(Object.entries(valueOf(files['config.yaml'])).filter(([key]) => isStartupKey(key))), 16);

/** `files` with the start-up keys of `old`: what a pod that started with `old` can take live. */
export const withStartupKeysOf = (files: ConfigFiles, old: ConfigFiles): ConfigFiles => {
  const live = Object.entries(valueOf(files['config.yaml'])).filter(([key]) => !isStartupKey(key));
  const kept = Object.entries(valueOf(old['config.yaml'])).filter(([key]) => isStartupKey(key));
  return { ...files, 'config.yaml': renderMain(Object.fromEntries([...live, ...kept])) };
};

const isStartupKey = (key: string): boolean => (STARTUP_KEYS as readonly string[]).includes(key);

/** Version of the form that a rendered file is written in. */
export const formatVersionOf = (files: ConfigFiles): unknown => valueOf(files['config.yaml'])['formatVersion'];

/** The backends of a rendered `backends.yaml`. */
export const backendsIn = (files: ConfigFiles): readonly BackendConfigEntry[] =>
  (valueOf(files['backends.yaml'])['backends'] ?? []) as readonly BackendConfigEntry[];

/** Files we rendered; one that somebody else broke counts as empty. */
const valueOf = (text: string | undefined): Value => {
  if (text === undefined) return {};
  try {
    const value = parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Value) : {};
  } catch {
    return {};
  }
};

/** spec: config.operational.failureHandling.statusReportingInterval, in milliseconds; of a spec that is refused, the default. */
export const statusIntervalMs = (spec: ServerSpec): number => {
  const { data = operationalSchema.parse({}) } = operationalSchema.safeParse(spec.config?.['operational'] ?? {});
  return data.failureHandling.statusReportingInterval;
};
