import * as z from 'zod';
import { backendsFileSchema, configSchema, fileSchema } from './config.ts';
import { isDuration } from './durations.ts';
import { notYetOf } from './not-yet.ts';
import { rulesOf } from './rules.ts';
import { coreOf, fieldsOf, innerOf, isOptional, itemOf, typeOf, wordsOf } from './schema-walk.ts';

/** One line of the reference. */
interface Row {
  readonly path: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly default: string;
  /** Bounds, words, patterns and rules. */
  readonly limits: readonly string[];
  readonly meaning: string;
  /** `yes`, or the feature that is missing. */
  readonly works: string;
}

/**
 * The tables of `docs/configuration.md`, made from the schemas: one per key of the file or of resources, in
 * alphabetical order.
 */
export function reference(): string {
  const [ofFile, ofResources] = [rowsOf(fileSchema), rowsOf(configSchema)];
  const known: Known = { file: pathsOf(ofFile), resources: pathsOf(ofResources) };
  const rows = [...ofFile, ...ofResources.filter(({ path }) => !known.file.has(path))];
  const sections = Map.groupBy(rows, ({ path }) => /^[A-Za-z]+/.exec(path)?.[0] ?? '');
  const tables = [...sections]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([section, each]) => table(section, each, known));
  const keys = Object.keys(fieldsOf(backendsFileSchema) ?? {}).map((key) => `\`${key}\``);
  return `${tables.join('\n\n')}\n\n## \`backends.yaml\`\n\nHolds ${keys.join(', ')}, as above, with nothing but \`backends\` inside \`outgoingAuth\`.\n`;
}

/** Paths of all keys, by where they may be written. */
interface Known {
  readonly file: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
}

const pathsOf = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ path }) => path));

interface Above {
  readonly path: string;
  readonly works: string;
  /** Where maps that occur several times are written out. */
  readonly seen: Map<z.core.$ZodType, string>;
}

function rowsOf(schema: z.core.$ZodType, above: Above = { path: '', works: 'yes', seen: new Map() }): readonly Row[] {
  return Object.entries(fieldsOf(schema) ?? {}).flatMap(([key, field]) => {
    const path = above.path === '' ? key : `${above.path}.${key}`;
    const works = above.works === 'yes' ? worksOf(field) : 'not yet';
    const item = itemOf(field);
    const below = coreOf(item ?? field);
    const earlier = above.seen.get(below);
    const meaning = z.globalRegistry.get(described(field))?.description ?? '';
    const row: Row = {
      path,
      type: typeName(field),
      isRequired: !isOptional(field),
      default: defaultOf(field),
      limits: earlier === undefined ? limitsOf(field) : [],
      meaning: earlier === undefined ? meaning : `${meaning} Keys as in \`${earlier}\`.`,
      works,
    };
    if (earlier !== undefined) return [row];
    if (fieldsOf(below) !== undefined) above.seen.set(below, path);
    const suffix = item === undefined ? '' : typeOf(field) === 'array' ? '[]' : '.<name>';
    const inside = works.startsWith('only') ? 'yes' : works;
    return [row, ...rowsOf(below, { path: `${path}${suffix}`, works: inside, seen: above.seen })];
  });
}

function worksOf(field: z.core.$ZodType): string {
  const mark = markOf(field);
  if (mark === undefined) return 'yes';
  return mark.except.length > 0 ? `only \`${mark.except.join('`, `')}\`` : `not yet: ${mark.feature}`;
}

/** The outermost schema around a field that has a description. */
function described(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = innerOf(schema);
  return z.globalRegistry.get(schema)?.description !== undefined || inner === undefined ? schema : described(inner);
}

function markOf(schema: z.core.$ZodType): ReturnType<typeof notYetOf> {
  const inner = innerOf(schema);
  return notYetOf(schema) ?? (inner === undefined ? undefined : markOf(inner));
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'map',
  string: 'text',
  enum: 'word',
  number: 'whole number',
  boolean: 'true or false',
  unknown: 'any value',
};

function typeName(schema: z.core.$ZodType): string {
  if (isDuration(schema)) return 'duration';
  const type = typeOf(schema);
  const item = itemOf(schema);
  if (type === 'array' && item !== undefined) return `list of ${plural(typeName(item))}`;
  if (type === 'record' && item !== undefined) return `map of name to ${typeName(item)}`;
  return TYPE_NAMES[type] ?? type;
}

const plural = (name: string): string => (name.includes(' ') ? `(${name})` : `${name}s`);

function defaultOf(schema: z.core.$ZodType): string {
  const definition: { readonly defaultValue?: unknown } = schema._zod.def as { readonly defaultValue?: unknown };
  const { defaultValue } = definition;
  if (defaultValue !== undefined) return typeof defaultValue === 'object' ? '' : `\`${JSON.stringify(defaultValue)}\``;
  const inner = innerOf(schema);
  return inner === undefined ? '' : defaultOf(inner);
}

function limitsOf(schema: z.core.$ZodType): readonly string[] {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = json;
  const words = wordsOf(schema)?.map((word) => `\`${word === '' ? '""' : word}\``);
  return [
    ...(words === undefined ? [] : [words.join(', ')]),
    ...range('', minimum, maximum === undefined || maximum >= 2 ** 31 - 1 ? undefined : maximum),
    ...(isDuration(schema) ? [] : range(' characters', minLength, maxLength)),
    ...range(' items', minItems, maxItems),
    ...(pattern === undefined || isDuration(schema) ? [] : [`\`${pattern.replaceAll('\\/', '/')}\``]),
    ...rulesWithin(schema).map(({ reason }) => reason),
  ];
}

function range(what: string, from: number | undefined, to: number | undefined): readonly string[] {
  if (from === 1 && to === undefined && what !== '') return ['not empty'];
  if (from !== undefined && to !== undefined) return [`${from} to ${to}${what}`];
  if (from !== undefined && from > Number.MIN_SAFE_INTEGER) return [`at least ${from}${what}`];
  return to === undefined ? [] : [`at most ${to}${what}`];
}

/** Rules of the value itself, and of the items when it is a list or a map: those have no row of their own. */
function rulesWithin(schema: z.core.$ZodType): ReturnType<typeof rulesOf> {
  const inner = innerOf(schema);
  if (inner !== undefined) return [...rulesOf(schema), ...rulesWithin(inner)];
  const item = itemOf(coreOf(schema));
  return [...rulesOf(schema), ...(item === undefined ? [] : rulesWithin(item))];
}

function table(section: string, rows: readonly Row[], known: Known): string {
  const lines = rows.map((row) => {
    const flags = [
      ...(row.isRequired ? ['required'] : row.default === '' ? [] : [`default ${row.default}`]),
      ...(isNewlyMissing(row.path, known.resources) ? ['file only'] : []),
      ...(isNewlyMissing(row.path, known.file) ? ['resource only'] : []),
    ];
    const limits = [...flags, ...row.limits].join('; ').replaceAll('|', '\\|');
    return `| \`${row.path}\` | ${row.type} | ${limits} | ${row.meaning} | ${row.works} |`;
  });
  return [
    `## \`${section}\``,
    '',
    '| key | type | default and limits | meaning | works |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

/** Whether a key is missing there while its parent is not. */
function isNewlyMissing(path: string, there: ReadonlySet<string>): boolean {
  const isMissing = (each: string): boolean => each !== '' && !there.has(each);
  return isMissing(path) && !isMissing(parentOf(path));
}

/** The nearest key above that has a row. */
const parentOf = (path: string): string =>
  path.replace(/(\[\]|\.<name>)*\.?[^.]*$/, '').replace(/(\[\]|\.<name>)+$/, '');
