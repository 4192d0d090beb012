import { type Environment, type TextSource, tokenOf } from './flag-values.ts';

/** Draws a workflow. */
export interface DrawCommand {
  readonly kind: 'draw-workflow';
  readonly config: string;
  readonly name: string;
  readonly form: 'mermaid' | 'svg';
}

/** Runs a workflow, or shows what a run would do. */
export interface RunCommand {
  readonly kind: 'run-workflow';
  readonly target: RunTarget;
  /** JSON text; undefined: no parameters. */
  readonly params: TextSource | undefined;
  /** `STEP=JSON` */
  readonly answers: readonly string[];
  /** Undefined: a caller without a token. */
  readonly token: TextSource | undefined;
  readonly isDryRun: boolean;
}

/** Which workflow is run, and by whom. */
export type RunTarget =
  | ServerTarget
  /** By a server of this process; `config` is its configuration, in which the workflow has this name. */
  | { readonly kind: 'named'; readonly config: string; readonly name: string }
  /** The only workflow of a file; `config` is the configuration that it is added to, absent: the file itself. */
  | { readonly kind: 'file'; readonly file: string; readonly config: string | undefined };

/** A server that is running. */
export interface ServerTarget {
  readonly kind: 'server';
  readonly url: string;
  readonly name: string;
}

/** Flags of `workflow run` that no other command has. */
export const WORKFLOW_FLAGS = {
  params: { type: 'string' },
  answer: { type: 'string', multiple: true },
  'dry-run': { type: 'boolean' },
  url: { type: 'string' },
} as const;

interface WorkflowValues {
  readonly config?: string | undefined;
  readonly output?: string | undefined;
  readonly params?: string | undefined;
  readonly answer?: readonly string[] | undefined;
  readonly 'dry-run'?: boolean | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly 'token-file'?: string | undefined;
}

/** The command of `vmcp workflow WORDS`. Throws what the user is told. */
export const workflowCommandOf = (
  words: readonly string[],
  values: WorkflowValues,
  environment: Environment,
): DrawCommand | RunCommand => {
  const [action, word, ...more] = words;
  if (action !== 'graph' && action !== 'run') throw new Error('which? vmcp workflow graph, or vmcp workflow run');
  if (action === 'graph' && (word === undefined || more.length > 0)) throw new Error(WHICH_TO_DRAW);
  if (word === undefined || more.length > 0) throw new Error(WHICH_TO_RUN);
  return action === 'graph' ? drawCommandOf(word, values, environment) : runCommandOf(word, values, environment);
};

const WHICH_TO_DRAW = 'which? vmcp workflow graph NAME -c FILE';
const WHICH_TO_RUN = 'which? vmcp workflow run NAME -c FILE, or vmcp workflow run FILE';

const drawCommandOf = (name: string, values: WorkflowValues, environment: Environment): DrawCommand => {
  const { output: form = 'mermaid', config = environment['VMCP_CONFIG'], ...others } = values;
  const [stray] = Object.keys(others);
  if (stray !== undefined) throw new Error(`--${stray} is for other commands`);
  if (form !== 'mermaid' && form !== 'svg') throw new Error(`unknown form of output: ${form}; it is mermaid or svg`);
  if (config === undefined) throw new Error('which file? give -c FILE');
  return { kind: 'draw-workflow', config, name, form };
};

const runCommandOf = (word: string, values: WorkflowValues, environment: Environment): RunCommand => {
  const {
    config,
    params,
    answer = [],
    'dry-run': isDryRun = false,
    url,
    token,
    'token-file': file,
    ...others
  } = values;
  const [stray] = Object.keys(others);
  if (stray !== undefined) throw new Error(`--${stray} is for other commands`);
  if (isDryRun && answer.length > 0) throw new Error('--answer is for a run; a dry run asks nobody');
  if (isDryRun && (token ?? file) !== undefined) throw new Error('--token is for a run; a dry run calls nothing');
  if (isDryRun && url !== undefined) throw new Error('--dry-run reads a file: give -c FILE instead of --url');
  if (config !== undefined && url !== undefined) throw new Error('give -c FILE or --url URL, not both');
  return {
    kind: 'run-workflow',
    target: url === undefined ? fileTarget(word, config ?? environment['VMCP_CONFIG']) : serverTarget(word, url),
    params: params?.startsWith('@') ? { file: params.slice(1) } : params === undefined ? undefined : { text: params },
    answers: answer,
    token: isDryRun ? undefined : tokenOf({ token, 'token-file': file }, environment),
    isDryRun,
  };
};

const serverTarget = (name: string, url: string): ServerTarget => {
  if (!URL.canParse(url)) throw new Error(`--url is no URL: ${url}`);
  if (FILE.test(name)) throw new Error(`a server is asked for a workflow by its name, not by a file: ${name}`);
  return { kind: 'server', url, name };
};

/** No other word is taken for a file: a workflow may have any name of letters, digits, `_`, `-` and `.` */
const FILE = /\.(?:ya?ml|json)$/;

const fileTarget = (word: string, config: string | undefined): RunTarget => {
  if (FILE.test(word)) return { kind: 'file', file: word, config };
  if (config === undefined) throw new Error(WHICH_TO_RUN);
  return { kind: 'named', config, name: word };
};
