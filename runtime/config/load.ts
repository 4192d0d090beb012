import type * as z from 'zod';
import { compareText } from '../text.ts';
import { backendsFileSchema, fileSchema, FORMAT_VERSION } from './config.ts';
import { crossChecks } from './cross-checks.ts';
import { explain, type Finding } from './explain.ts';
import { type DeepReadonly, deepFreeze } from './freeze.ts';
import { unsupportedIn } from './not-yet.ts';
import { inOrder, type Problem } from './problem.ts';
import { isRecord } from './schema-walk.ts';
import { type ConfigFile, type ParsedFile, parseYaml } from './yaml-text.ts';

/** The configuration as the runtime uses it: checked, with defaults, durations in milliseconds, frozen. */
export type Config = DeepReadonly<z.output<typeof fileSchema> & Pick<FoundBackends, 'withheld'>>;
export type BackendConfig = Config['backends'][number];
export type StrategyConfig = NonNullable<Config['outgoingAuth']['default']>;
export type UpstreamProviderConfig = NonNullable<Config['authServer']>['upstreamProviders'][number];

/** A check that needs another room; takes the value as written, so that other problems do not hide what it finds. */
export type ConfigCheck = (file: unknown) => readonly Finding[];

/** A configuration, or all problems of its files. */
export type LoadedConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** The file that holds the backends an operator found. */
export const BACKENDS_FILE = 'backends.yaml';

/**
 * Turns the text of `config.yaml`, and of `backends.yaml` when there is one, into one configuration, or lists every
 * problem. Backends come in name order.
 */
export function loadConfig(files: readonly ConfigFile[], further: ConfigCheck = () => []): LoadedConfig {
  const isBackends = ({ name }: ConfigFile) => name.split('/').at(-1) === BACKENDS_FILE;
  const main = files.find((file) => !isBackends(file));
  if (main === undefined) return { ok: false, problems: [NO_FILE] };
  const config = check(fileSchema, main, (value) => [...crossChecks(value, value), ...further(value)]);
  const backendsFile = files.find(isBackends);
  const found =
    backendsFile === undefined
      ? undefined
      : check(backendsFileSchema, backendsFile, (value) => crossChecks(value, config.parsed.value));
  const problems = [...config.problems, ...(found?.problems ?? []), ...clashes(config, found)];
  if (problems.length > 0 || config.value === undefined) return { ok: false, problems: inOrder(problems, files) };
  return { ok: true, config: deepFreeze(joined(config.value, found?.value)) };
}

/**
 * Whether `loadConfig` would accept files with these contents (values that YAML can express). It takes a fraction of
 * the time, for values that were never text; `loadConfig` finds the problems and their positions.
 */
export function isLoadable({ main, backends }: { readonly main: unknown; readonly backends: unknown }): boolean {
  const config = checkParsed(fileSchema, unplaced(main), (value) => crossChecks(value, value));
  const found = checkParsed(backendsFileSchema, unplaced(backends), (value) => crossChecks(value, main));
  return [...config.problems, ...found.problems, ...clashes(config, found)].length === 0;
}

const unplaced = (value: unknown): ParsedFile => ({
  value,
  problems: [],
  place: ({ reason, remedy }) => ({ ...NO_FILE, reason, remedy }),
});

const NO_FILE: Problem = {
  file: 'config.yaml',
  line: 1,
  column: 1,
  path: '',
  reason: 'no configuration file was given',
  remedy: 'name one with -c',
};

interface Checked<T> {
  readonly parsed: ParsedFile;
  readonly problems: readonly Problem[];
  /** Present only without problems. */
  readonly value?: T;
}

function check<S extends z.ZodType>(
  schema: S,
  file: ConfigFile,
  further: (value: unknown) => readonly Finding[],
): Checked<z.output<S>> {
  return checkParsed(schema, parseYaml(file), further);
}

function checkParsed<S extends z.ZodType>(
  schema: S,
  parsed: ParsedFile,
  further: (value: unknown) => readonly Finding[],
): Checked<z.output<S>> {
  if (parsed.problems.length > 0) return { parsed, problems: parsed.problems };
  // A file with nothing but comments is an empty map.
  const value = parsed.value ?? {};
  const newer = newerFormat(value);
  if (newer !== undefined) return { parsed, problems: [parsed.place(newer)] };
  const result = schema.safeParse(value);
  const findings = [
    ...(result.error?.issues ?? []).flatMap((issue) => explain(issue, { schema, value })),
    ...further(value),
    ...unsupportedIn(schema, value),
  ];
  if (findings.length > 0 || !result.success)
    return { parsed, problems: findings.map((finding) => parsed.place(finding)) };
  return { parsed, problems: [], value: result.data };
}

/** Reported alone: other problems may be valid in the newer format. */
function newerFormat(value: unknown): Finding | undefined {
  const version = isRecord(value) ? value['formatVersion'] : undefined;
  if (typeof version !== 'number' || version <= FORMAT_VERSION) return undefined;
  return {
    path: ['formatVersion'],
    reason: `format ${version} is newer than format ${FORMAT_VERSION}, the newest that this version reads`,
    remedy: 'run a newer vmcp, or write the file in the older format',
  };
}

/** A backend or a strategy must not be in both files. */
function clashes(main: Checked<unknown>, found: Checked<unknown> | undefined): readonly Problem[] {
  if (found === undefined) return [];
  const first = namesIn(main.parsed.value);
  const second = namesIn(found.parsed.value);
  const remedy = 'keep it in one of the two files';
  return second.flatMap(({ path, what, name }) => {
    if (!first.some((each) => each.what === what && each.name === name)) return [];
    return [found.parsed.place({ path, reason: `${what} ${JSON.stringify(name)} is in both files`, remedy })];
  });
}

function namesIn(value: unknown): readonly { path: readonly PropertyKey[]; what: string; name: string }[] {
  if (!isRecord(value)) return [];
  const { backends, outgoingAuth } = value;
  const strategies = isRecord(outgoingAuth) ? outgoingAuth['backends'] : undefined;
  return [
    ...(Array.isArray(backends) ? backends : []).flatMap((each: unknown, index) =>
      isRecord(each) && typeof each['name'] === 'string'
        ? [{ path: ['backends', index, 'name'], what: 'backend', name: each['name'] }]
        : [],
    ),
    ...Object.keys(isRecord(strategies) ? strategies : {}).map((name) => ({
      path: ['outgoingAuth', 'backends', name],
      what: 'strategy of backend',
      name,
    })),
  ];
}

type FileValue = z.output<typeof fileSchema>;
type FoundBackends = z.output<typeof backendsFileSchema>;

function joined(config: FileValue, found: FoundBackends | undefined): FileValue & Pick<FoundBackends, 'withheld'> {
  const backends = [...config.backends, ...(found?.backends ?? [])];
  const strategies = { ...config.outgoingAuth.backends, ...found?.outgoingAuth.backends };
  // A withheld workload may have the name of one that is served.
  const withheld = (found?.withheld ?? []).filter(({ name }) => backends.every((backend) => backend.name !== name));
  return {
    ...config,
    backends: backends.map((each) => inGroup(each, config)).toSorted((a, b) => compareText(a.name, b.name)),
    withheld: withheld.toSorted((a, b) => compareText(a.name, b.name)),
    outgoingAuth: { ...config.outgoingAuth, backends: strategies },
  };
}

/**
 * `metadata` of docs/configuration.md "backends"; the key `group` is set by the service, whatever was given: without a
 * group it is absent.
 */
function inGroup({ metadata, ...backend }: FileBackend, { groupRef }: FileValue): FileBackend {
  const { group: _given, ...free } = metadata ?? {};
  const shown = { ...free, ...(groupRef !== undefined && { group: groupRef }) };
  return Object.keys(shown).length === 0 ? backend : { ...backend, metadata: shown };
}

type FileBackend = FileValue['backends'][number];
