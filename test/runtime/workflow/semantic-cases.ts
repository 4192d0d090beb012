import { globSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** One row of the table of semantics: a workflow, what its tools answer, and what comes of a call. */
export interface SemanticCase {
  /** A fact. */
  readonly name: string;
  readonly proves?: readonly string[];
  /** The workflow, without its name; absent: that of the case before. */
  readonly workflow?: Readonly<Record<string, unknown>>;
  /** Answers by `<workload>.<tool>`, in turn; the last one is given again. Default: the arguments, as `got`. */
  readonly answers?: Readonly<Record<string, ToolAnswer | readonly ToolAnswer[]>>;
  /** Delays that pass at once. */
  readonly elapse?: readonly number[];
  readonly params?: object;
  /** What the user answers, in turn. */
  readonly user?: readonly object[];
  /** The questions, where they matter. */
  readonly asked?: readonly object[];
  /** `structuredContent` of the result. */
  readonly result?: unknown;
  /** The first text of the result, where there is no structured content. */
  readonly text?: string;
  /** The text of the failure holds this. */
  readonly fails?: string;
  /** The JSON-RPC error has this code, and its message holds `fails`. */
  readonly code?: number;
  /** `issues` of a refusal. */
  readonly issues?: readonly object[];
  /** `<workload>.<tool> <arguments>` as they came, in order; sorted where `inAnyOrder`. */
  readonly calls?: readonly string[];
  readonly inAnyOrder?: boolean;
  /** Most calls that were under way at one time. */
  readonly atOnce?: number;
}

export interface ToolAnswer {
  readonly structured?: unknown;
  readonly text?: string;
  readonly result?: object;
  /** Text of a result with `isError`. */
  readonly error?: string;
  readonly rpcError?: { readonly code: number; readonly message: string };
  /** No answer; time moves on by so many ms once the call is there. */
  readonly silent?: number;
}

const folder = new URL('semantics/', import.meta.url).pathname;

export interface CaseFile {
  readonly file: string;
  readonly cases: readonly SemanticCase[];
}

export const semanticCases = (): readonly CaseFile[] =>
  globSync('*.yaml', { cwd: folder })
    .toSorted()
    .map((file) => ({ file, cases: casesIn(parse(readFileSync(folder + file, 'utf8')) as readonly SemanticCase[]) }));

const casesIn = (written: readonly SemanticCase[]): readonly SemanticCase[] => {
  let workflow: SemanticCase['workflow'];
  return written.map((each) => {
    workflow = each.workflow ?? workflow;
    return { ...each, ...(workflow && { workflow }) };
  });
};
