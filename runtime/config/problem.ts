/** Something wrong with a configuration file, where it is, and what to do about it. */
export interface Problem {
  /** Name of the file as it was given. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in characters. */
  readonly column: number;
  /** Dotted, with list positions in brackets: `backends[0].url`; empty for the file as a whole. */
  readonly path: string;
  readonly reason: string;
  readonly remedy: string;
}

/** One line: `config.yaml:3:5: backends[0].url: reason; remedy`. */
export function formatProblem({ file, line, column, path, reason, remedy }: Problem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${reason}; ${remedy}`;
}

/** `['backends', 0, 'url']` → `backends[0].url`; keys that are no plain words are quoted. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(String(key))) text += `${text === '' ? '' : '.'}${String(key)}`;
    else text += `[${JSON.stringify(String(key))}]`;
  }
  return text;
}

/** Sorts problems by file, in the order given, then by line. */
export function inOrder(problems: readonly Problem[], files: readonly { readonly name: string }[]): readonly Problem[] {
  const rank = new Map(files.map(({ name }, index) => [name, index]));
  return problems.toSorted(
    (a, b) => (rank.get(a.file) ?? 0) - (rank.get(b.file) ?? 0) || a.line - b.line || a.column - b.column,
  );
}
