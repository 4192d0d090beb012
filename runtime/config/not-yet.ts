import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

/** What a mark on a field says. */
export interface NotYet {
  /** What does not exist yet, as the subject of "… is not supported yet". */
  readonly feature: string;
  /** Values that are supported although they are not the default. */
  readonly except: readonly unknown[];
  /** For an optional object: being there at all counts, even when all its fields have their defaults. */
  readonly presence: boolean;
}

const registry = z.registry<NotYet>();

/** Marks a field whose behaviour does not exist: a value that differs from its default is refused, never parsed and ignored. */
export function notYet<S extends z.ZodType>(
  schema: S,
  feature: string,
  options: { readonly except?: readonly unknown[]; readonly presence?: boolean } = {},
): S {
  registry.add(schema, { feature, except: options.except ?? [], presence: options.presence ?? false });
  return schema;
}

/** The mark on this very schema, if any. */
export function notYetOf(schema: z.core.$ZodType): NotYet | undefined {
  return registry.get(schema);
}

/** A value that asks for what does not exist yet. */
export interface Unsupported {
  readonly path: readonly (string | number)[];
  readonly feature: string;
  readonly reason: string;
  readonly remedy: string;
}

/** Every marked field of `schema` that `value` (as written, before defaults) sets to something else than its default. */
export function unsupportedIn(schema: z.core.$ZodType, value: unknown): readonly Unsupported[] {
  return [...walk(schema, value, [])];
}

function* walk(schema: z.core.$ZodType, value: unknown, path: readonly (string | number)[]): Generator<Unsupported> {
  if (value === undefined) return;
  const mark = notYetOf(schema);
  if (mark !== undefined && counts(schema, value, mark)) {
    yield unsupported(mark, path);
    return;
  }
  const def = (schema as z.ZodType).def as unknown as Definition;
  if (def.innerType !== undefined) yield* walk(def.innerType, value, path);
  else if (def.in !== undefined) yield* walk(def.in, value, path);
  else if (def.shape !== undefined && isRecord(value)) {
    for (const [key, field] of Object.entries(def.shape)) yield* walk(field, value[key], [...path, key]);
  } else if (def.element !== undefined && Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* walk(def.element, item, [...path, index]);
  } else if (def.type === 'record' && def.valueType !== undefined && isRecord(value)) {
    for (const [key, item] of Object.entries(value)) yield* walk(def.valueType, item, [...path, key]);
  }
}

/** The parts of a zod definition that lead further down. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
}

function counts(schema: z.core.$ZodType, value: unknown, mark: NotYet): boolean {
  if (mark.presence) return true;
  const parsed = z.safeParse(schema, value);
  // An invalid value has problems of its own.
  if (!parsed.success) return false;
  if (mark.except.some((each) => isDeepStrictEqual(each, parsed.data))) return false;
  return !defaultsOf(schema, value).some((each) => isDeepStrictEqual(each, parsed.data));
}

/** What counts as the default: what parsing nothing gives; where that is nothing, also the empty value. */
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

function unsupported({ feature }: NotYet, path: readonly (string | number)[]): Unsupported {
  return {
    path,
    feature,
    reason: `not supported yet: ${feature}`,
    remedy: `remove ${path.at(-1) ?? 'it'}, or leave it at its default`,
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
