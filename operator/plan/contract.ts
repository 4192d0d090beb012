import { parse } from 'yaml';
import { unsupported } from '../../crds/index.ts';
import {
  type BackendsInput,
  type ConfigInput,
  aggregationSchema,
  backendsFileSchema,
  filePathsIn,
  fileSchema,
  formatProblem,
  isLoadable,
  loadConfig,
  operationalSchema,
  renderConfig,
  startupKeysOf,
  textOf,
  withStartupKeys,
  unsupportedIn,
  writtenBackends,
  writtenConfig,
} from '../../runtime/config/index.ts';
import { withoutSuperseded } from '../validate/index.ts';
import { hashOf } from './canonical.ts';
import type { ConfigFiles } from './plan.ts';
import { memoized } from './memoized.ts';
import type { BackendConfigEntry, FoundBackends, ServerSpec } from './server-spec.ts';

/** Why a value may not be served: it is wrong, or it asks for what does not exist yet. */
export interface Refusal {
  readonly reason: 'NotSupportedYet' | 'Invalid' | 'UnknownField';
  /** Path, reason and remedy in one line. */
  readonly message: string;
}

type Value = Readonly<Record<string, unknown>>;

/** What the two config files say. */
export interface FilesInput {
  /** Built from resources whose schema embeds the file's; the refusals tell if it is wrong after all. */
  readonly main: Value;
  readonly found: FoundBackends;
}

/** The files, and what the runtime itself would say about them: nothing that it would refuse is ever written. */
export interface CheckedFiles {
  readonly files: ConfigFiles;
  /** Every file that they name. */
  readonly filePaths: readonly string[];
  /** Over the keys that cannot change live: a new one needs new pods. */
  readonly startupHash: string;
  readonly refusals: readonly Refusal[];
}

/** A backend and how it is authenticated to; undefined: without credentials. */
export interface BackendWithStrategy {
  readonly entry: BackendConfigEntry;
  readonly strategy: Value | undefined;
}

/** What the schemas of the runtime and of the resources say about a plan. */
export interface Contract {
  /**
   * Fields of a resource that the operator, or the runtime behind it, does not act on yet (docs/decisions.md "Not
   * supported yet").
   */
  unsupportedFields(kind: string, spec: unknown): readonly Refusal[];
  /** What the runtime would refuse in a single backend, so that it cannot take the others down with it. */
  backendRefusals(backend: BackendWithStrategy): readonly Refusal[];
  filesOf(input: FilesInput): CheckedFiles;
  /**
   * `failureHandling.statusReportingInterval` of docs/configuration.md "operational", in milliseconds; of a spec that
   * is refused, the default.
   */
  statusIntervalMs(spec: ServerSpec): number;
}

/**
 * Rendering and checking cost milliseconds, and most plans are made because of a pod or its report: what was said about
 * a value is remembered, per instance, for as many values as a large cluster has servers and backends.
 */
export const newContract = (): Contract => {
  const fields = memoized(unsupportedFields, 4096);
  const interval = memoized(intervalMs, 1024);
  return {
    unsupportedFields: (kind, spec) => fields({ kind, spec }),
    backendRefusals: memoized(backendRefusals, 4096),
    filesOf: memoized(filesOf, 1024),
    statusIntervalMs: ({ config }) => interval(config?.['operational'] ?? {}),
  };
};

const unsupportedFields = ({ kind, spec }: { readonly kind: string; readonly spec: unknown }): readonly Refusal[] =>
  unsupported(kind, { spec: withoutSuperseded(spec ?? {}) }).map(({ path, reason, remedy }) => ({
    reason: 'NotSupportedYet',
    message: `${path}: ${reason}; ${remedy}`,
  }));

const backendRefusals = ({ entry, strategy }: BackendWithStrategy): readonly Refusal[] => {
  const file = { backends: [entry], ...(strategy && { outgoingAuth: { backends: { [entry.name]: strategy } } }) };
  const missing = unsupportedIn(backendsFileSchema, file);
  const { error } = backendsFileSchema.safeParse(file);
  return [
    ...[...new Set(missing.map(({ reason, remedy }) => `${reason}${typeIn(strategy, reason)}; ${remedy}`))].map(
      (message) => ({ reason: 'NotSupportedYet', message }) as const,
    ),
    ...(error?.issues ?? []).map(
      ({ path, message }) => ({ reason: 'Invalid', message: `${path.slice(2).join('.')}: ${message}` }) as const,
    ),
  ];
};

/** Which strategy it is, where there is one and it is not said: only strategies are marked in a backend. */
const typeIn = (strategy: Value | undefined, reason: string): string => {
  const type = strategy?.['type'];
  return typeof type === 'string' && !reason.includes(type) ? ` by ${type}` : '';
};

const filesOf = ({ main, found }: FilesInput): CheckedFiles => {
  const config = writtenConfig(main as ConfigInput);
  const backends = writtenBackends(found as BackendsInput);
  const files = { 'config.yaml': textOf(config), 'backends.yaml': textOf(backends) };
  const startupHash = hashOf(startupKeysOf(main as ConfigInput), 16);
  const filePaths = [...filePathsIn(fileSchema, main), ...filePathsIn(backendsFileSchema, found)];
  return Object.freeze({
    files: Object.freeze(files),
    filePaths,
    startupHash,
    refusals: isTaken(files, { main: config, backends }) ? [] : refusalsOf(files),
  });
};

/**
 * Is this beyond doubt a file that the runtime takes? Of a few values YAML makes something of its own, or the loader
 * looks at the text.
 */
const isTaken = (files: ConfigFiles, said: Parameters<typeof isLoadable>[0]): boolean =>
  Object.values(files).every((text) => text.length < SURELY_SMALL && !text.includes('__proto__')) && isLoadable(said);

/** Characters, which take up to four bytes each; a file may have 4 MiB. */
const SURELY_SMALL = 1024 * 1024;

const refusalsOf = (files: ConfigFiles): readonly Refusal[] => {
  const loaded = loadConfig(Object.entries(files).map(([name, text]) => ({ name, text })));
  return loaded.ok ? [] : loaded.problems.map((each) => ({ reason: 'Invalid', message: formatProblem(each) }));
};

const renderMain = (value: Value): string => renderConfig(value as ConfigInput);

const intervalMs = (operational: unknown): number => {
  const { data = operationalSchema.parse({}) } = operationalSchema.safeParse(operational);
  return data.failureHandling.statusReportingInterval;
};

/** `files` with the start-up keys of `old`: what a pod that started with `old` can take live. */
export const withStartupKeysOf = (files: ConfigFiles, old: ConfigFiles): ConfigFiles => {
  const [newer, older] = [files, old].map((each) => valueOf(each['config.yaml'])) as [Value, Value];
  return { ...files, 'config.yaml': renderMain(withStartupKeys(newer, older)) };
};

/** What a rendered `config.yaml` says. */
export const valueIn = (files: ConfigFiles): Value => valueOf(files['config.yaml']);

/** Version of the form that a rendered file is written in. */
export const formatVersionOf = (files: ConfigFiles): unknown => valueIn(files)['formatVersion'];

/**
 * Backends of a rendered `backends.yaml`; none if a user has edited the file into one that the runtime would refuse.
 */
export const foundIn = (files: ConfigFiles): FoundBackends => {
  const { formatVersion: _version, ...value } = valueOf(files['backends.yaml']);
  if (!backendsFileSchema.safeParse(value).success) return { backends: [], withheld: [] };
  const { backends = [], withheld = [], outgoingAuth } = value as Partial<FoundBackends>;
  return { backends, withheld, ...(outgoingAuth && { outgoingAuth }) };
};

/** Tools of a backend in a rendered `config.yaml`; undefined if it names none, or a user has edited the file. */
export const foundToolsIn = (files: ConfigFiles, workload: string): FoundTools | undefined => {
  const { aggregation } = valueOf(files['config.yaml']) as { readonly aggregation?: unknown };
  const { data } = aggregationSchema.safeParse(aggregation);
  return data?.tools?.find((each) => each.workload === workload);
};

/** `aggregation.tools[]` of one backend, as the rendered file has it. */
export interface FoundTools {
  readonly excludeAll?: boolean | undefined;
  readonly filter?: readonly string[] | undefined;
  readonly overrides?: Readonly<Record<string, unknown>> | undefined;
}

/** Parses a file that the operator rendered; one that a user has broken counts as empty. */
const valueOf = (text: string | undefined): Value => {
  if (text === undefined) return {};
  try {
    const value = parse(text, { uniqueKeys: false }) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Value) : {};
  } catch {
    return {};
  }
};
