import { kinds } from '../../../crds/index.ts';
import { objectSchema } from '../../../crds/crd.ts';
import type { SchemaNode } from '../../../crds/structural.ts';
import type { KubeObject } from '../../../operator/object.ts';

/** What the API server stores at most, with room for what it adds. */
export const MOST_BYTES = 1_300_000;

export interface Inflated {
  /** Which list, map or text is as large as its schema allows, or as the API server does. */
  readonly path: string;
  readonly object: KubeObject;
}

/** The shortest entry of a map of any fields takes so many bytes. */
const SHORTEST_BYTES = 12;

/**
 * The object once for each list, map and, with `texts`, text of its kind's schema, with that one as large as possible:
 * entries of a list or map are made anew, different from each other where they can be. An entry of a map of any fields
 * takes `entryBytes`.
 */
export const inflated = (
  object: KubeObject,
  { texts = true, entryBytes = SHORTEST_BYTES } = {},
): readonly Inflated[] => {
  const definition = Object.values(kinds).find(({ kind }) => kind === object.kind);
  const spec = definition && objectSchema(definition).properties?.['spec'];
  if (spec === undefined) throw new Error(`no kind ${object.kind}`);
  return growable(spec, ['spec'])
    .filter(({ node }) => texts || node.type !== 'string')
    .map(({ path, node }) => ({
      path: path.join('.'),
      object: withValueAt(object, path, grown(node, entryBytes), spec) as KubeObject,
    }));
};

interface Place {
  readonly path: readonly string[];
  readonly node: SchemaNode;
}

const growable = (node: SchemaNode, path: readonly string[]): readonly Place[] => {
  const isGrowable =
    node.items !== undefined || node.additionalProperties !== undefined || node.preserveUnknownFields === true;
  const isText = node.type === 'string' && node.enum === undefined && node.format === undefined;
  const below = [
    ...Object.entries(node.properties ?? {}).flatMap(([name, field]) => growable(field, [...path, name])),
    ...(node.additionalProperties ? growable(node.additionalProperties, [...path, '*']) : []),
    ...(node.items ? growable(node.items, [...path, '[]']) : []),
  ];
  return isGrowable || isText ? [{ path, node }, ...below] : below;
};

/** As large as it may be. */
const grown = (node: SchemaNode, entryBytes: number): unknown => {
  const most = Math.min(node.maxItems ?? node.maxProperties ?? 1_000_000, 200_000);
  if (node.items !== undefined) return filled(most, (index) => sample(node.items ?? {}, index));
  const value = node.additionalProperties;
  if (value !== undefined) return Object.fromEntries(filled(most, (index) => [`k${index}`, sample(value, index)]));
  if (node.type === 'string') return textOf(node, 0, Math.min(node.maxLength ?? MOST_BYTES, MOST_BYTES));
  const more = 'x'.repeat(entryBytes - SHORTEST_BYTES);
  return Object.fromEntries(filled(MOST_BYTES / entryBytes, (index) => [`k${index}${more}`, index]));
};

/** So many as fit. */
const filled = <T>(most: number, make: (index: number) => T): readonly T[] => {
  const made: T[] = [];
  for (let bytes = 0; made.length < most;) {
    const next = make(made.length);
    bytes += JSON.stringify(next)?.length ?? 0;
    if (bytes > MOST_BYTES) break;
    made.push(next);
  }
  return made;
};

/** A small value of this schema; texts and names carry the index. */
export const sample = (node: SchemaNode, index: number): unknown => {
  if (node.enum !== undefined) return node.enum[0];
  if (node.properties !== undefined) {
    const names = new Set([...(node.required ?? []), ...(node.listKeys ?? [])]);
    const named = Object.entries(node.properties).filter(([name]) => names.has(name) || USUAL.has(name));
    return Object.fromEntries(named.map(([name, field]) => [name, sample(field, index)]));
  }
  if (node.items !== undefined)
    return Array.from({ length: node.minItems ?? 1 }, () => sample(node.items ?? {}, index));
  if (node.additionalProperties !== undefined) return { [`k${index}`]: sample(node.additionalProperties, index) };
  switch (node.type) {
    case 'string':
      return textOf(node, index, 0);
    case 'integer':
    case 'number':
      return node.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return {};
  }
};

/** Without these no entry passes the rules of its kind. */
const USUAL: ReadonlySet<string> = new Set(['name', 'id', 'tool']);

const CANDIDATES = [
  'a',
  '1s',
  'https://a.example.com/',
  'https://a.example.com',
  'A',
  '1',
  '/a',
  '1Gi',
  'a/b',
  'sha256:a',
];

const textOf = (
  { pattern, minLength = 0, maxLength = Infinity, format }: SchemaNode,
  index: number,
  length: number,
): string => {
  if (format === 'date-time') return '2026-01-01T00:00:00Z';
  const isFit = (text: string): boolean =>
    text.length >= minLength &&
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  const long = CANDIDATES.flatMap((each) => [
    each.padEnd(length, 'a'),
    each.padStart(length, '1'),
    each.padStart(length, 'a'),
  ]);
  const candidates = [...CANDIDATES.map((each) => `${each}${index}`), ...CANDIDATES];
  return (length > 0 ? long : candidates).find(isFit) ?? candidates.find(isFit) ?? 'a';
};

/** What lies on the way is made where it is missing. */
const withValueAt = (object: unknown, path: readonly string[], value: unknown, node: SchemaNode): unknown => {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const record = (object ?? {}) as Readonly<Record<string, unknown>>;
  if (step === 'spec') return { ...record, spec: withValueAt(record['spec'] ?? {}, rest, value, node) };
  if (step === '[]') {
    const [first, ...more] = Array.isArray(object) ? (object as readonly unknown[]) : [];
    return [withValueAt(first ?? sample(node.items ?? {}, 0), rest, value, node.items ?? {}), ...more];
  }
  if (step === '*') {
    const [key = 'k'] = Object.keys(record);
    const inner = node.additionalProperties ?? {};
    return { ...record, [key]: withValueAt(record[key] ?? sample(inner, 0), rest, value, inner) };
  }
  const inner = node.properties?.[step] ?? {};
  const below = record[step] ?? (rest.length > 0 && rest[0] !== '[]' ? sample(inner, 0) : undefined);
  return { ...record, [step]: withValueAt(below, rest, value, inner) };
};
