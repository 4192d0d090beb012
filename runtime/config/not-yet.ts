import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { isRecord, walk } from './schema-walk.ts';

/** The mark of a field that is not supported yet. */
export interface NotYet {
  /** The missing feature, as the subject of "… is not supported yet". */
  readonly feature: string;
  /** Values that are supported although they are not the default. */
  readonly except: readonly unknown[];
  /** For an optional object: being there at all counts, even when all its fields have their defaults. */
  readonly presence: boolean;
  /** Says of a word why it is refused, where that is not because of the feature. */
  readonly refusalOf: (value: unknown) => Words | undefined;
  /** Words that are valid, and that no message recommends. */
  readonly unproposed: readonly string[];
}

interface Words {
  readonly reason: string;
  readonly remedy: string;
}

const registry = z.registry<NotYet>();

/** Features that restrict access: no message suggests to do without them. */
const GUARDS: ReadonlySet<string> = new Set(['authenticating to backends', 'the embedded authorization server']);

/**
 * Marks a field whose behaviour does not exist: a value that differs from its default is refused, never parsed and
 * ignored.
 */
export function notYet<S extends z.ZodType>(
  schema: S,
  feature: string,
  {
    except = [],
    presence = false,
    refusalOf = () => undefined,
    unproposed = [],
  }: Partial<Omit<NotYet, 'feature'>> = {},
): S {
  registry.add(schema, { feature, except, presence, refusalOf, unproposed });
  return schema;
}

/** The mark on this very schema, if any. */
export function notYetOf(schema: z.core.$ZodType): NotYet | undefined {
  return registry.get(schema);
}

/** A value that needs a missing feature. */
export interface Unsupported {
  readonly path: readonly (string | number)[];
  readonly feature: string;
  readonly reason: string;
  readonly remedy: string;
}

/**
 * Every marked field of `schema` that `value` (as written, before defaults) sets to something else than its default.
 */
export function unsupportedIn(schema: z.core.$ZodType, value: unknown): readonly Unsupported[] {
  const found: Unsupported[] = [];
  walk({ schema, value, path: [] }, (at) => {
    const mark = notYetOf(at.schema);
    if (mark === undefined || !counts(at.schema, at.value, mark)) return true;
    const { feature } = mark;
    found.push({ path: at.path, feature, ...(mark.refusalOf(at.value) ?? unsupported(mark, at.schema, at.path)) });
    return false;
  });
  return found;
}

function counts(schema: z.core.$ZodType, value: unknown, mark: NotYet): boolean {
  if (mark.presence) return true;
  const parsed = z.safeParse(schema, value);
  // An invalid value is no default either; but an invalid scalar is reported as a problem of its own.
  if (!parsed.success) return typeof value === 'object' && value !== null;
  if (mark.except.some((each) => isDeepStrictEqual(each, parsed.data))) return false;
  return !defaultsOf(schema, value).some((each) => isDeepStrictEqual(each, parsed.data));
}

/**
 * Values that count as the default: the result of parsing undefined, and where that is undefined, also the empty value.
 */
function defaultsOf(schema: z.core.$ZodType, value: unknown): readonly unknown[] {
  const absent = z.safeParse(schema, undefined);
  if (absent.success && absent.data !== undefined) return [absent.data];
  const empty = z.safeParse(schema, emptyLike(value));
  return empty.success ? [undefined, empty.data] : [undefined];
}

function emptyLike(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (isRecord(value)) return {};
  return value === '' || value === false ? value : undefined;
}

function unsupported({ feature, except }: NotYet, schema: z.core.$ZodType, path: readonly (string | number)[]): Words {
  const key = path.at(-1) ?? 'it';
  const reason = `not supported yet: ${feature}`;
  if (GUARDS.has(feature)) return { reason, remedy: 'use a release that has it' };
  if (except.length > 0) return { reason, remedy: `set ${key} to ${except.join(' or ')}` };
  const hasDefault = z.safeParse(schema, undefined).data !== undefined;
  return { reason, remedy: hasDefault ? `remove ${key}, or leave it at its default` : `remove ${key}` };
}
