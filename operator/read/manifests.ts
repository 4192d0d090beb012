import { type Document, LineCounter, isMap, isNode, isScalar, parseAllDocuments } from 'yaml';
import { API_GROUP, type ResourceProblem, parseResource } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';

/** A file of manifests as it was read. */
export interface ManifestFile {
  readonly name: string;
  readonly text: string;
}

/** What is wrong with a manifest, where, and what to do. */
export interface ManifestProblem {
  readonly file: string;
  /** 1-based; absent when the whole file is meant. */
  readonly line?: number;
  readonly message: string;
}

/** What the files of a directory hold, and what could not be read. */
export interface Manifests {
  readonly objects: readonly KubeObject[];
  readonly problems: readonly ManifestProblem[];
}

export const problemText = ({ file, line, message }: ManifestProblem): string =>
  line === undefined ? `${file}: ${message}` : `${file}:${line}: ${message}`;

/** Every object of the files with defaults applied, and everything the API server would refuse. */
export const parseManifests = (files: readonly ManifestFile[]): Manifests => {
  const parsed = files.flatMap(parseFile);
  const objects = parsed.flatMap(({ object }) => object ?? []);
  return { objects, problems: [...parsed.flatMap(({ problems }) => problems), ...duplicates(parsed)] };
};

interface ParsedDocument {
  readonly file: string;
  readonly line: number;
  readonly object?: KubeObject;
  readonly problems: readonly ManifestProblem[];
}

const parseFile = ({ name, text }: ManifestFile): readonly ParsedDocument[] => {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const at = (offset: number): number => lines.linePos(offset).line;
    if (isEmpty(document)) return [];
    return [parseDocument(name, document, at)];
  });
};

/** Nothing but comments, or what follows a last `---`: `kubectl` passes over it. */
const isEmpty = ({ contents, errors }: Document.Parsed): boolean =>
  errors.length === 0 && (contents === null || (isScalar(contents) && contents.value === null));

type At = (offset: number) => number;

const parseDocument = (file: string, document: Document.Parsed, at: At): ParsedDocument => {
  const line = at(document.contents?.range[0] ?? document.range[0]);
  const [syntax] = document.errors;
  if (syntax !== undefined) {
    return { file, line, problems: [{ file, line: at(syntax.pos[0]), message: `not YAML: ${syntax.message}` }] };
  }
  const outcome = readObject(document);
  if (outcome.ok) return { file, line, object: outcome.value, problems: [] };
  const problems = outcome.problems.map(({ path, reason, remedy }) => ({
    file,
    line: lineOf(document, path, at) ?? line,
    message: `${path === '' ? '' : `${path}: `}${reason}; ${remedy}`,
  }));
  return { file, line, problems };
};

type Outcome =
  | { readonly ok: true; readonly value: KubeObject }
  | { readonly ok: false; readonly problems: readonly ResourceProblem[] };

const refuse = (path: string, reason: string, remedy: string): Outcome => ({
  ok: false,
  problems: [{ path, reason, remedy }],
});

const readObject = (document: Document.Parsed): Outcome => {
  const value = toPlain(document);
  if (value === undefined) return refuse('', 'too many aliases', 'write the values out');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('', 'not a manifest', 'write an object with apiVersion, kind and metadata.name');
  }
  const { apiVersion, kind, metadata } = value as Partial<KubeObject>;
  if (typeof apiVersion !== 'string') return refuse('apiVersion', 'is required', 'set it, e.g. vmcp.dev/v1beta1');
  if (typeof kind !== 'string') return refuse('kind', 'is required', 'set it, e.g. VirtualMCPServer');
  if (typeof metadata?.name !== 'string') return refuse('metadata.name', 'is required', 'set it');
  // Typed by hand: `namespace:` with nothing behind it is null, and as good as none, as the empty text is to
  // Kubernetes.
  const namespace: unknown = metadata.namespace ?? '';
  if (typeof namespace !== 'string') return refuse('metadata.namespace', 'is no text', 'quote it, or remove it');
  const object = { ...value, metadata: { ...metadata, namespace: namespace || 'default' } } as KubeObject;
  return apiVersion.startsWith(`${API_GROUP}/`) ? parseResource(object) : { ok: true, value: object };
};

/** The library stops at 100 expansions of an alias by throwing. */
const toPlain = (document: Document.Parsed): unknown => {
  try {
    return document.toJS() as unknown;
  } catch {
    return undefined;
  }
};

/** Line of the deepest part of `a.b[0].c` that the document has. */
const lineOf = (document: Document.Parsed, path: string, at: At): number | undefined => {
  const steps = [...path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(([, quoted, index, key]) =>
    index === undefined ? (quoted ?? key ?? '') : Number(index),
  );
  return lineOfSteps(document, steps, at);
};

/** The same of a path in steps; exported for files that are no manifests. */
export const lineOfSteps = (
  document: Document.Parsed,
  steps: readonly (string | number)[],
  at: At,
): number | undefined => {
  for (let length = steps.length; length > 0; length--) {
    const offset = offsetOf(document, steps.slice(0, length));
    if (offset !== undefined) return at(offset);
  }
  return undefined;
};

/** Where the key begins, since a value may begin lines below it; for items of a list where the item does. */
const offsetOf = (document: Document.Parsed, steps: readonly (string | number)[]): number | undefined => {
  const parent = document.getIn(steps.slice(0, -1), true);
  const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === steps.at(-1)) : undefined;
  const node = pair === undefined ? document.getIn(steps, true) : pair.key;
  return isNode(node) ? node.range?.[0] : undefined;
};

const duplicates = (parsed: readonly ParsedDocument[]): readonly ManifestProblem[] => {
  const firstByKey = new Map<string, ParsedDocument>();
  return parsed.flatMap((each) => {
    const { object, file, line } = each;
    if (object === undefined) return [];
    const key = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
    const first = firstByKey.get(key);
    if (first === undefined) {
      firstByKey.set(key, each);
      return [];
    }
    return [{ file, line, message: `${key} is already in ${first.file}:${first.line}; remove one of them` }];
  });
};
