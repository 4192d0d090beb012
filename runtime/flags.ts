import { parseArgs } from 'node:util';

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

/** What the command line asks for; a flag wins over its variable. */
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
  const port = portOf('port', values.port ?? variable(environment, 'VMCP_PORT') ?? '4483');
  const management = values['management-port'] ?? variable(environment, 'VMCP_MANAGEMENT_PORT') ?? '4484';
  return {
    kind: 'serve',
    config,
    port,
    managementPort: portOf('management-port', management),
    ...(host !== undefined && { host }),
  };
};

/** Kubernetes sets this in every container. */
const isInCluster = (environment: Environment): boolean => environment['KUBERNETES_SERVICE_HOST'] !== undefined;

/** Kubernetes gives pods `VMCP_PORT=tcp://…` when a Service of that name exists; that is not meant for us. */
const variable = (environment: Environment, name: string): string | undefined => {
  const value = environment[name];
  return value?.startsWith('tcp://') ? undefined : value;
};

const portOf = (flag: string, text: string): number => {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`--${flag} is not a port: ${text}`);
  return port;
};
