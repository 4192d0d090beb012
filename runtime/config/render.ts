import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import * as z from 'zod';
import { backendsFileSchema, fileSchema, FORMAT_VERSION } from './config.ts';
import type { AsWritten } from './freeze.ts';
import { fieldsOf, isRecord, itemOf } from './schema-walk.ts';

/** `config.yaml` as it is written, before defaults: durations are texts. */
export type ConfigInput = AsWritten<z.input<typeof fileSchema>>;
/** `backends.yaml` as it is written. */
export type BackendsInput = AsWritten<z.input<typeof backendsFileSchema>>;

/** The keys that cannot change while the runtime runs. */
const STARTUP_KEYS = ['sessionStorage', 'telemetry'] as const;
/** The same under `extensions`. */
const STARTUP_EXTENSIONS = ['sessionStore'] as const;
/** The same under `authServer`, and whether there is one. */
const STARTUP_AUTH_SERVER = ['issuer', 'authorizationEndpointBaseUrl', 'storage'] as const;

/**
 * Text of `config.yaml`: only what differs from its default, in the order of the schema, maps by key. Does not
 * validate.
 */
export function renderConfig(value: ConfigInput): string {
  return textOf(writtenConfig(value));
}

/** Text of `backends.yaml`. */
export function renderBackends(value: BackendsInput): string {
  return textOf(writtenBackends(value));
}

/** The content of `config.yaml`, as a value. */
export function writtenConfig(value: ConfigInput): Shape {
  return written(fileSchema, value);
}

/** The content of `backends.yaml`, as a value. */
export function writtenBackends(value: BackendsInput): Shape {
  return written(backendsFileSchema, value);
}

/** The text of a file with this content. */
export function textOf(file: Shape): string {
  return stringify(file, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.2' });
}

/** The part of a configuration that cannot change live, without what is at its default: equal parts need no restart. */
export function startupKeysOf(value: ConfigInput): Readonly<Record<string, unknown>> {
  const kept = prune(fileSchema, value);
  return isRecord(kept) ? splitStartup(kept).startup : {};
}

/** Names of the start-up keys whose values differ between two loaded configurations. */
export function startupChanges(a: StartupPart, b: StartupPart): readonly string[] {
  return [
    ...STARTUP_KEYS.filter((key) => !isDeepStrictEqual(a[key], b[key])),
    ...STARTUP_EXTENSIONS.filter((key) => !isDeepStrictEqual(a.extensions[key], b.extensions[key])).map(
      (key) => `extensions.${key}`,
    ),
    ...authServerChanges(a.authServer, b.authServer),
  ];
}

const authServerChanges = (a: StartupPart['authServer'], b: StartupPart['authServer']): readonly string[] => {
  if (!a !== !b) return ['authServer'];
  return STARTUP_AUTH_SERVER.filter((key) => !isDeepStrictEqual(a?.[key], b?.[key])).map((key) => `authServer.${key}`);
};

type StartupPart = { readonly [K in (typeof STARTUP_KEYS)[number]]?: unknown } & {
  readonly extensions: { readonly [K in (typeof STARTUP_EXTENSIONS)[number]]?: unknown };
  readonly authServer?: { readonly [K in (typeof STARTUP_AUTH_SERVER)[number]]?: unknown } | undefined;
};

/** `value` with the start-up keys of `old` in place of its own. */
export function withStartupKeys(value: Shape, old: Shape): Shape {
  return joined(splitStartup(value).live, splitStartup(old).startup);
}

type Shape = Readonly<Record<string, unknown>>;

function splitStartup(value: Shape): { readonly startup: Shape; readonly live: Shape } {
  const { extensions, authServer, ...rest } = value;
  const outer = split(rest, STARTUP_KEYS);
  const inner = split(isRecord(extensions) ? extensions : {}, STARTUP_EXTENSIONS);
  const server = split(isRecord(authServer) ? authServer : {}, STARTUP_AUTH_SERVER);
  return {
    startup: joined(outer.in, { ...within('extensions', inner.in), ...within('authServer', server.in) }),
    live: joined(outer.out, { ...within('extensions', inner.out), ...within('authServer', server.out) }),
  };
}

function within(key: NestedKey, part: Shape): Shape {
  return Object.keys(part).length === 0 ? {} : { [key]: part };
}

const NESTED_KEYS = ['extensions', 'authServer'] as const;
type NestedKey = (typeof NESTED_KEYS)[number];

function split(value: Shape, keys: readonly string[]): { readonly in: Shape; readonly out: Shape } {
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return {
    in: Object.fromEntries(entries.filter(([key]) => keys.includes(key))),
    out: Object.fromEntries(entries.filter(([key]) => !keys.includes(key))),
  };
}

function joined(a: Shape, b: Shape): Shape {
  const nested = NESTED_KEYS.map((key) =>
    within(key, { ...(a[key] as Shape | undefined), ...(b[key] as Shape | undefined) }),
  );
  return Object.assign({}, a, b, ...nested);
}

function written(schema: z.ZodType, value: Shape): Shape {
  const { formatVersion: _, ...rest } = value;
  const kept = prune(schema, rest);
  return { formatVersion: FORMAT_VERSION, ...(isRecord(kept) ? kept : {}) };
}

/** The value without parts that equal their defaults. */
function prune(schema: z.core.$ZodType, value: unknown): unknown {
  if (Array.isArray(value)) {
    const item = itemOf(schema);
    return value.map((each: unknown) => (item === undefined ? sorted(each) : prune(item, each)));
  }
  if (!isRecord(value)) return value;
  const fields = fieldsOf(schema);
  const item = itemOf(schema);
  const entries = orderedEntries(value, fields).flatMap(([key, each]) => {
    const field = fields === undefined ? item : Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field === undefined) return [[key, sorted(each)]];
    const kept = prune(field, each);
    return fields !== undefined && isDefault(field, kept) ? [] : [[key, kept]];
  });
  return Object.fromEntries(entries);
}

/** Fields in the order of the schema; anything else by key. Keys without a value are left out. */
function orderedEntries(
  value: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>> | undefined,
): readonly (readonly [string, unknown])[] {
  const known = Object.keys(fields ?? {}).filter((key) => Object.hasOwn(value, key));
  const others = Object.keys(value)
    .filter((key) => fields === undefined || !Object.hasOwn(fields, key))
    .sort();
  return [...known, ...others].map((key) => [key, value[key]] as const).filter(([, each]) => each !== undefined);
}

function isDefault(schema: z.core.$ZodType, value: unknown): boolean {
  const absent = defaultOf(schema);
  if (absent === undefined) return false;
  const present = z.safeParse(schema, value);
  return present.success && isDeepStrictEqual(present.data, absent);
}

const defaults = new WeakMap<z.core.$ZodType, { readonly value: unknown }>();

/**
 * The result of parsing undefined; undefined where that is refused. Cached per schema, since there are few schemas and
 * many values.
 */
function defaultOf(schema: z.core.$ZodType): unknown {
  const known = defaults.get(schema);
  if (known !== undefined) return known.value;
  const value = z.safeParse(schema, undefined).data;
  defaults.set(schema, { value });
  return value;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
