import { parseArgs } from 'node:util';

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
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly problem?: string };

export const USAGE = `usage: vmcp serve -c FILE [--host HOST] [--port PORT] [--management-port PORT]
       vmcp validate -c FILE
       vmcp version

Each flag can also be given in the environment: VMCP_CONFIG, VMCP_HOST, VMCP_PORT, VMCP_MANAGEMENT_PORT.
`;

type Environment = Readonly<Record<string, string | undefined>>;

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
      help: { type: 'boolean', short: 'h' },
    },
  });
  const [name, ...more] = positionals;
  if (values.help || name === undefined) return { kind: 'usage' };
  if (more.length > 0) throw new Error(`unexpected argument: ${more.join(' ')}`);
  if (name === 'version') return { kind: 'version' };
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
