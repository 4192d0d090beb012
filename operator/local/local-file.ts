import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import * as z from 'zod';
import { httpUrlSchema, workloadNameSchema } from '../../runtime/config/index.ts';
import { LOCAL_FILE } from '../read/directory.ts';
import { type ManifestProblem, lineOfSteps } from '../read/manifests.ts';

/** docs/decisions.md "Local mode": where backends really run, and which ports servers get. */
const schema = z.strictObject({
  backends: z.record(workloadNameSchema, httpUrlSchema).default({}),
  ports: z.record(z.string(), z.int().min(1).max(65_534)).default({}),
});

export type LocalFile = Readonly<z.output<typeof schema>>;

export type ReadLocalFile =
  | { readonly ok: true; readonly file: LocalFile }
  | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/**
 * `<dir>/local.yaml`; without one everything is at its default. One of no bytes is a problem: a moment ago it said
 * something.
 */
export const readLocalFile = (directory: string): ReadLocalFile => {
  const text = readIfThere(join(directory, LOCAL_FILE));
  if (text === undefined) return { ok: true, file: schema.parse({}) };
  const refuse = (message: string): ReadLocalFile => ({ ok: false, problems: [{ file: LOCAL_FILE, message }] });
  if (typeof text !== 'string') return refuse(`cannot be read: ${text.message}; make it readable, or remove it`);
  // A program that writes a file empties it first. Taken for nothing, that would move every server to another port.
  if (text === '') return refuse('is empty; write backends: and ports: into it, or remove it');
  return parseLocalFile(text);
};

const readIfThere = (path: string): string | Error | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : (error as Error);
  }
};

const parseLocalFile = (text: string): ReadLocalFile => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): number => lines.linePos(offset).line;
  const refuse = (line: number, message: string): ReadLocalFile => ({
    ok: false,
    problems: [{ file: LOCAL_FILE, line, message }],
  });
  const [syntax] = document.errors;
  if (syntax !== undefined) {
    return refuse(
      at(syntax.pos[0]),
      `not YAML: ${syntax.message}; write backends: {NAME: URL} and ports: {SERVER: PORT}`,
    );
  }
  const value = valueOf(document);
  if (value === undefined) return refuse(1, 'too many aliases; write the values out');
  const { data, error } = schema.safeParse(value ?? {});
  if (data !== undefined) return { ok: true, file: data };
  const problems = error.issues.flatMap(wrongPlaces).map(({ steps, message }) => ({
    file: LOCAL_FILE,
    line: lineOfSteps(document, steps, at) ?? 1,
    message: steps.length === 0 ? message : `${steps.join('.')}: ${message}`,
  }));
  return { ok: false, problems };
};

/** The library stops at 100 expansions of an alias by throwing. */
const valueOf = (document: Document.Parsed): unknown => {
  try {
    return document.toJS() as unknown;
  } catch {
    return undefined;
  }
};

interface WrongPlace {
  readonly steps: readonly string[];
  readonly message: string;
}

/** Every message says reason and remedy. */
const wrongPlaces = (issue: z.core.$ZodIssue): readonly WrongPlace[] => {
  const steps = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ steps: [...steps, key], message: 'unknown key; use backends and ports' }));
  }
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return [{ steps, message: message.includes(';') ? message : `${message}; ${remedyFor(steps)}` }];
};

const remedyFor = ([section, name]: readonly string[]): string => {
  if (section === 'backends') return name === undefined ? 'write NAME: URL' : 'write an http(s) URL';
  if (section === 'ports') return name === undefined ? 'write SERVER: PORT' : 'write a port from 1 to 65534';
  return 'write backends: {NAME: URL} and ports: {SERVER: PORT}';
};
