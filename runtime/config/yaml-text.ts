import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
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
 * Reads YAML 1.2 with positions. Refused, because they hide what is written or how much of it: aliases, tags, a second document,
 * duplicate keys.
 */
export function parseYaml({ name, text }: ConfigFile): ParsedFile {
  const lines = new LineCounter();
  const whole = { file: name, line: 1, column: 1, path: '' };
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
    const problem = { ...whole, reason: 'is larger than 4 MiB', remedy: 'make the file smaller' };
    return { value: undefined, problems: [problem], place: (finding) => ({ ...whole, ...finding, path: '' }) };
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2', merge: false });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems: Problem[] = [...document.errors, ...document.warnings].map((error) => {
    const remedy = SYNTAX_REMEDY[error.code] ?? 'correct the YAML here';
    return { ...whole, ...at(error.pos[0]), reason: `not valid YAML: ${firstLine(error.message)}`, remedy };
  });
  visit(document, {
    Alias: (_, node) => void problems.push({ ...whole, ...at(node.range?.[0] ?? 0), ...ALIAS }),
    Value: (_, node) => {
      if (node.tag !== undefined) problems.push({ ...whole, ...at(node.range?.[0] ?? 0), ...TAG });
    },
    Pair: (_, pair) => {
      if (!isScalar(pair.key) || pair.key.value !== '__proto__') return;
      problems.push({ ...whole, ...at(pair.key.range?.[0] ?? 0), reason: 'is not a usable key', remedy: 'remove it' });
    },
  });
  return {
    value: problems.length > 0 ? undefined : (document.toJS({ maxAliasCount: 0 }) as unknown),
    problems,
    place: ({ path, atKey = false, reason, remedy }) => ({
      ...whole,
      ...at(offsetOf(document.contents, path, atKey)),
      path: formatPath(path),
      reason,
      remedy,
    }),
  };
}

const ALIAS = { reason: 'aliases (*name) are not allowed', remedy: 'write the value out' };

const TAG = { reason: 'tags (!name) are not allowed', remedy: 'write the value without a tag' };

const SYNTAX_REMEDY: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'keep one of the two',
  MULTIPLE_DOCS: 'keep one document per file',
  TAB_AS_INDENT: 'indent with blanks',
  TAG_RESOLVE_FAILED: 'remove the tag',
};

const firstLine = (message: string): string => message.split('\n', 1)[0] ?? message;

/** Where the value at `path` begins, or its key: for maps and lists, for keys, and for what is missing the nearest key above. */
function offsetOf(root: Node | null, path: readonly PropertyKey[], atKey: boolean): number {
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
}

function step(node: unknown, key: PropertyKey): { readonly offset: number; readonly value: unknown } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(key)];
    return item === undefined || isPair(item) ? undefined : { offset: startOf(item), value: item };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find((each) => isScalar(each.key) && String(each.key.value) === String(key));
  return pair === undefined ? undefined : { offset: startOf(pair.key), value: pair.value };
}

function startOf(node: unknown): number {
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0] ?? 0;
  return 0;
}
