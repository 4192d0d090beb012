import { parseArgs } from 'node:util';
import { demandNone, type Environment, sourceOf, type TextSource, tokenOf, variable } from './flag-values.ts';
import { type DrawCommand, type RunCommand, WORKFLOW_FLAGS, workflowCommandOf } from './workflow-flags.ts';

/** The parsed command line. */
export type Command =
  | {
      readonly kind: 'serve';
      readonly config: string;
      readonly host?: string;
      readonly port: number;
      readonly managementPort: number;
    }
  | { readonly kind: 'validate'; readonly config: string }
  | ExplainCommand
  | RevokeUserCommand
  | DrawCommand
  | RunCommand
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly problem?: string };

/** Asks a server that is running. */
export interface ExplainCommand {
  readonly kind: 'explain';
  readonly asked: { readonly kind: 'tool' | 'prompt' | 'resource'; readonly name: string };
  /** Undefined: a caller without a token. */
  readonly token: TextSource | undefined;
  readonly args: TextSource | undefined;
  /** What a model may ask `find_tool` for. */
  readonly query?: string | undefined;
  readonly managementUrl: string;
  readonly managementToken: TextSource | undefined;
  readonly output: 'text' | 'json';
}

/** Ends the access of a user at a server that is running. */
export interface RevokeUserCommand {
  readonly kind: 'revoke-user';
  readonly subject: string;
  /** Undefined: the first issuer of the server. */
  readonly issuer: string | undefined;
  readonly managementUrl: string;
  readonly managementToken: TextSource | undefined;
  readonly output: 'text' | 'json';
}

export const USAGE = `usage: vmcp serve -c FILE [--host HOST] [--port PORT] [--management-port PORT]
       vmcp validate -c FILE
       vmcp explain --tool NAME [--query TEXT] [--args JSON | --args-file FILE]
                    [--token TOKEN | --token-file FILE]
                    [--management-url URL] [--management-token TOKEN | --management-token-file FILE] [-o json]
                    (or --prompt NAME, or --resource URI; docs/explain.md)
       vmcp users revoke --subject SUBJECT [--issuer ISSUER] [--management-url URL]
                    [--management-token TOKEN | --management-token-file FILE] [-o json]
                    (docs/users.md)
       vmcp workflow graph NAME -c FILE [-o mermaid | svg]
                    (docs/workflow-checks.md)
       vmcp workflow run NAME -c FILE | FILE [-c FILE] | NAME --url URL
                    [--params JSON | --params @FILE] [--answer STEP=JSON]… [--dry-run]
                    [--token TOKEN | --token-file FILE]
                    (docs/composite-tools.md)
       vmcp version

Each flag can also be given in the environment: VMCP_CONFIG, VMCP_HOST, VMCP_PORT, VMCP_MANAGEMENT_PORT;
tokens in VMCP_TOKEN and VMCP_MANAGEMENT_TOKEN, which no list of processes shows.
`;

/** Flags of the commands that ask a server which runs. */
const ASKING_FLAGS = {
  'management-url': { type: 'string' },
  'management-token': { type: 'string' },
  'management-token-file': { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const;

const USERS_FLAGS = { subject: { type: 'string' }, issuer: { type: 'string' } } as const;

const EXPLAIN_FLAGS = {
  tool: { type: 'string' },
  prompt: { type: 'string' },
  resource: { type: 'string' },
  args: { type: 'string' },
  query: { type: 'string' },
  'args-file': { type: 'string' },
  token: { type: 'string' },
  'token-file': { type: 'string' },
} as const;

type AskingFlags = { readonly [F in keyof typeof ASKING_FLAGS]?: string | undefined };
type UsersFlags = AskingFlags & { readonly [F in keyof typeof USERS_FLAGS]?: string | undefined };
type ExplainFlags = AskingFlags & { readonly [F in keyof typeof EXPLAIN_FLAGS]?: string | undefined };

/** The command of the command line; a flag wins over its environment variable. */
export const readCommand = (args: readonly string[], environment: Environment): Command => {
  try {
    return commandOf(args, environment);
  } catch (error) {
    return { kind: 'usage', problem: error instanceof Error ? error.message : String(error) };
  }
};

const commandOf = (args: readonly string[], environment: Environment): Command => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: 'string', short: 'c' },
      host: { type: 'string' },
      port: { type: 'string' },
      'management-port': { type: 'string' },
      ...ASKING_FLAGS,
      ...EXPLAIN_FLAGS,
      ...USERS_FLAGS,
      ...WORKFLOW_FLAGS,
      help: { type: 'boolean', short: 'h' },
    },
  });
  const [name, ...more] = positionals;
  if (values.help || name === undefined) return { kind: 'usage' };
  if (name === 'workflow') return workflowCommandOf(more, values, environment);
  demandNone(WORKFLOW_FLAGS, values, 'workflow run');
  const isUsers = name === 'users';
  if (isUsers && more[0] !== 'revoke') throw new Error('which? vmcp users revoke');
  if (more.length > (isUsers ? 1 : 0)) throw new Error(`unexpected argument: ${more.join(' ')}`);
  if (name === 'version') return { kind: 'version' };
  if (name !== 'explain') demandNone(EXPLAIN_FLAGS, values, 'explain');
  if (!isUsers) demandNone(USERS_FLAGS, values, 'users revoke');
  if (name === 'explain') return explainCommandOf(values, environment);
  if (isUsers) return revokeUserCommandOf(values, environment);
  demandNone(ASKING_FLAGS, values, 'explain and users revoke');
  if (name !== 'serve' && name !== 'validate') throw new Error(`unknown command: ${name}`);
  const config = values.config ?? environment['VMCP_CONFIG'];
  if (config === undefined) throw new Error('which configuration? give -c FILE');
  if (name === 'validate') return { kind: 'validate', config };
  const host = values.host ?? environment['VMCP_HOST'] ?? (isInCluster(environment) ? '::' : undefined);
  return {
    kind: 'serve',
    config,
    port: portOf('port', values, environment),
    managementPort: portOf('management-port', values, environment),
    ...(host !== undefined && { host }),
  };
};

/** Kubernetes sets this in every container. */
const isInCluster = (environment: Environment): boolean => environment['KUBERNETES_SERVICE_HOST'] !== undefined;

const PORTS = {
  port: { variable: 'VMCP_PORT', otherwise: 4483 },
  'management-port': { variable: 'VMCP_MANAGEMENT_PORT', otherwise: 4484 },
} as const;

type Ports = { readonly [F in keyof typeof PORTS]?: string | undefined };

const portOf = (flag: keyof typeof PORTS, values: Ports, environment: Environment): number => {
  const { variable, otherwise } = PORTS[flag];
  const given = values[flag];
  if (given !== undefined) return parsedPort(`--${flag}`, given);
  const text = environment[variable];
  // Kubernetes gives pods `VMCP_PORT=tcp://…` when a Service of that name exists; that is not meant for us.
  return text === undefined || text.startsWith('tcp://') ? otherwise : parsedPort(variable, text);
};

const parsedPort = (source: string, text: string): number => {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`${source} is not a port: ${text}`);
  return port;
};

const explainCommandOf = (values: ExplainFlags, environment: Environment): ExplainCommand => {
  const asked = (['tool', 'prompt', 'resource'] as const).flatMap((kind) => {
    const name = values[kind];
    return name === undefined ? [] : [{ kind, name }];
  });
  const [only, ...others] = asked;
  if (!only || others.length > 0) throw new Error('what is to be explained? give one of --tool, --prompt, --resource');
  return {
    kind: 'explain',
    asked: only,
    token: tokenOf(values, environment),
    args: sourceOf('args', values),
    ...(values.query !== undefined && { query: values.query }),
    ...askingOf(values, environment),
  };
};

const revokeUserCommandOf = (values: UsersFlags, environment: Environment): RevokeUserCommand => {
  const { subject, issuer } = values;
  if (subject === undefined || subject === '') throw new Error('whose access is to be ended? give --subject');
  return { kind: 'revoke-user', subject, issuer, ...askingOf(values, environment) };
};

/** How a server is asked, and in which form its answer is printed. */
const askingOf = (values: AskingFlags, environment: Environment) => {
  const { output = 'text', 'management-url': managementUrl = DEFAULT_MANAGEMENT_URL } = values;
  if (output !== 'text' && output !== 'json') throw new Error(`unknown form of output: ${output}; it is json or text`);
  if (!URL.canParse(managementUrl)) throw new Error(`--management-url is no URL: ${managementUrl}`);
  const managementToken = sourceOf('management-token', values) ?? variable('VMCP_MANAGEMENT_TOKEN', environment);
  return { managementUrl, managementToken, output } as const;
};

const DEFAULT_MANAGEMENT_URL = `http://127.0.0.1:${PORTS['management-port'].otherwise}`;
