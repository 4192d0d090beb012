import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Finding } from './explain.ts';
import { formatPath, type Problem } from './problem.ts';

/** A file as text. */
export interface ConfigFile {
  /** Shown in problems; the part after the last slash tells `backends.yaml` from the main file. */
  readonly name: string;
  readonly text: string;
}

/** A file as a value that remembers where each part was written. */
export interface ParsedFile {
  readonly value: unknown;
  /** Problems of the YAML itself; the value is then not to be used. */
  readonly problems: readonly Problem[];
  place(finding: Finding): Problem;
}

/** Larger files are refused unread. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Reads YAML 1.2 with positions. Refused, because they obscure the content or its size: aliases, tags, a second
 * document, duplicate keys.
 */
export function parseYaml({ name, text }: ConfigFile): ParsedFile {
  const lines = new LineCounter();
  const whole = { file: name, line: 1, column: 1, path: '' };
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
    const problem = { ...whole, reason: 'is larger than 4 MiB', remedy: 'make the file smaller' };
    return { value: undefined, problems: [problem], place: (finding) => ({ ...whole, ...finding, path: '' }) };
  }
  // Duplicate keys are found below, as the library compares all pairs of keys.
  const how = { prettyErrors: false, version: '1.2', merge: false, uniqueKeys: false } as const;
  const document = parseDocument(text, { ...how, lineCounter: lines });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems: Problem[] = [...document.errors, ...document.warnings].map((error) => {
    const remedy = SYNTAX_REMEDY[error.code] ?? 'correct the YAML here';
    return { ...whole, ...at(error.pos[0]), reason: `not valid YAML: ${firstLine(error.message)}`, remedy };
  });
  visit(document, {
    Map: (_, map) => {
      for (const key of repeatedKeys(map)) problems.push({ ...whole, ...at(startOf(key)), ...REPEATED });
    },
    Alias: (_, node) => void problems.push({ ...whole, ...at(node.range?.[0] ?? 0), ...ALIAS }),
    Value: (_, node) => {
      if (node.tag !== undefined) problems.push({ ...whole, ...at(node.range?.[0] ?? 0), ...TAG });
    },
    Pair: (_, pair) => {
      if (!isScalar(pair.key) || pair.key.value !== '__proto__') return;
      problems.push({ ...whole, ...at(pair.key.range?.[0] ?? 0), reason: 'is not a usable key', remedy: 'remove it' });
    },
  });
  const offsetOf = offsetsIn(document.contents);
  return {
    value: problems.length > 0 ? undefined : (document.toJS({ maxAliasCount: 0 }) as unknown),
    problems,
    place: ({ path, atKey = false, reason, remedy }) => ({
      ...whole,
      ...at(offsetOf(path, atKey)),
      path: formatPath(path),
      reason,
      remedy,
    }),
  };
}

const ALIAS = { reason: 'aliases (*name) are not allowed', remedy: 'write the value out' };

const TAG = { reason: 'tags (!name) are not allowed', remedy: 'write the value without a tag' };

const REPEATED = { reason: 'not valid YAML: Map keys must be unique', remedy: 'keep one of the two' };

/** Keys that repeat an earlier key of the object, also in another spelling (`1` and `"1"`). */
function repeatedKeys(map: YAMLMap): readonly unknown[] {
  const seen = new Set<string>();
  return map.items.flatMap(({ key }) => {
    if (!isScalar(key)) return [];
    const name = String(key.value);
    if (seen.has(name)) return [key];
    seen.add(name);
    return [];
  });
}

const SYNTAX_REMEDY: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'keep one document per file',
  TAB_AS_INDENT: 'indent with blanks',
  TAG_RESOLVE_FAILED: 'remove the tag',
};

const firstLine = (message: string): string => message.split('\n', 1)[0] ?? message;

/**
 * The offset of the value at a path, or of its key: for maps and lists, for keys, and for a missing value the nearest
 * key above. The keys of each map are indexed once.
 */
function offsetsIn(root: Node | null): (path: readonly PropertyKey[], atKey: boolean) => number {
  const pairsOf = new Map<YAMLMap, ReadonlyMap<string, Pair>>();
  const pairIn = (map: YAMLMap, key: PropertyKey): Pair | undefined => {
    const pairs = pairsOf.get(map) ?? pairsByKey(map);
    pairsOf.set(map, pairs);
    return pairs.get(String(key));
  };
  const step = (node: unknown, key: PropertyKey): { readonly offset: number; readonly value: unknown } | undefined => {
    if (isSeq(node)) {
      const item = node.items[Number(key)];
      return item === undefined || isPair(item) ? undefined : { offset: startOf(item), value: item };
    }
    const pair = isMap(node) ? pairIn(node, key) : undefined;
    return pair && { offset: startOf(pair.key), value: pair.value };
  };
  return (path, atKey) => {
    let node: unknown = root;
    let offset = root?.range?.[0] ?? 0;
    for (const [index, key] of path.entries()) {
      const next = step(node, key);
      if (next === undefined) return offset;
      const isLast = index === path.length - 1;
      const scalarValue = isScalar(next.value) && next.value.range?.[0];
      offset = next.offset;
      if (isLast && !atKey && typeof scalarValue === 'number') return scalarValue;
      node = next.value;
    }
    return offset;
  };
}

const pairsByKey = (map: YAMLMap): ReadonlyMap<string, Pair> =>
  new Map(map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : [])));

function startOf(node: unknown): number {
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0] ?? 0;
  return 0;
}
